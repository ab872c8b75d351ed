# Records torchvision v2's magnitudes and levels for the tests of package ops:
#   python torchvision_augment.py > torchvision_augment.json
import json, sys
import torch, torchvision
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F
torch.manual_seed(1)
h,w=9,12
# a smooth picture with noise
y=torch.arange(h).view(h,1,1)*17.; x=torch.arange(w).view(1,w,1)*13.; c=torch.tensor([0.,40.,80.]).view(1,1,3)
img=((y+x+c)+torch.randint(0,40,(h,w,3))).clamp(0,255).to(torch.uint8)
t=img.permute(2,0,1)
out={"torchvision":torchvision.__version__,"height":h,"width":w,"picture":img.flatten().tolist()}
mags={}
for cls in ("RandAugment","TrivialAugmentWide","AutoAugment","AugMix"):
    K=getattr(v2,cls); bins={"RandAugment":31,"TrivialAugmentWide":31,"AutoAugment":10,"AugMix":10}[cls]
    d={}
    for k,(f,signed) in K._AUGMENTATION_SPACE.items():
        m=f(bins,200,300)
        d[k]={"signed":signed,"magnitudes":None if m is None else [float(v) for v in m]}
    mags[cls]=d
out["spaces"]=mags
out["policies"]={p.value:[[[a,b,c] for a,b,c in pair] for pair in v2.AutoAugment(p)._policies] for p in torchvision.transforms.AutoAugmentPolicy}
calls=[]
ta=v2.TrivialAugmentWide()
for op,ms in {"ShearX":[0.3,-0.15],"ShearY":[0.3,-0.99],"TranslateX":[3.7,-2.2],"TranslateY":[3.7,-2.2],"Rotate":[30.,-75.],"Brightness":[0.9,-0.4],"Color":[0.9,-0.4],"Contrast":[0.9,-0.4],"Sharpness":[0.9,-0.9],"Posterize":[2,5],"Solarize":[0.5,0.0],"AutoContrast":[0.],"Equalize":[0.],"Invert":[0.]}.items():
    for m in ms:
        for interp in (["nearest","bilinear"] if op[:5] in("Shear","Trans","Rotat") else ["nearest"]):
            r=ta._apply_image_or_video_transform(t,op,m,interp,{type(t):None} )
            calls.append({"op":op,"magnitude":float(m),"linear":interp=="bilinear","result":r.permute(1,2,0).flatten().tolist()})
for hh in (0.5,-0.3,0.1):
    calls.append({"op":"Hue","magnitude":hh,"linear":False,"result":F.adjust_hue(t,hh).permute(1,2,0).flatten().tolist()})
out["calls"]=calls
# equalize of a larger picture of a known formula
n=30*40
e=torch.tensor([[(i*i//7)%181+ (i%3)*20 for i in range(n)] for k in range(3)])
e[1]=e[1]//2; e[2]=(e[2]*3)%200
E=e.view(3,30,40).to(torch.uint8)
r=F.equalize(E)
out["equalized"]=[r[k].flatten()[::50].tolist() for k in range(3)]
json.dump(out,sys.stdout,separators=(",",":"))
