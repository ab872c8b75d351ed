package ops

// subPolicy is two operations, one after the other.
type subPolicy [2]struct {
	do          augmentation
	probability float64
	bin         int
}

// imageNetPolicy is what the paper's search found for ImageNet.
var imageNetPolicy = []subPolicy{
	{{posterize, 0.4, 8}, {rotateBy, 0.6, 9}},
	{{solarize, 0.6, 5}, {autoContrast, 0.6, 0}},
	{{equalize, 0.8, 0}, {equalize, 0.6, 0}},
	{{posterize, 0.6, 7}, {posterize, 0.6, 6}},
	{{equalize, 0.4, 0}, {solarize, 0.2, 4}},
	{{equalize, 0.4, 0}, {rotateBy, 0.8, 8}},
	{{solarize, 0.6, 3}, {equalize, 0.6, 0}},
	{{posterize, 0.8, 5}, {equalize, 1.0, 0}},
	{{rotateBy, 0.2, 3}, {solarize, 0.6, 8}},
	{{equalize, 0.6, 0}, {posterize, 0.4, 6}},
	{{rotateBy, 0.8, 8}, {saturate, 0.4, 0}},
	{{rotateBy, 0.4, 9}, {equalize, 0.6, 0}},
	{{equalize, 0.0, 0}, {equalize, 0.8, 0}},
	{{invert, 0.6, 0}, {equalize, 1.0, 0}},
	{{saturate, 0.6, 4}, {contrastBy, 1.0, 8}},
	{{rotateBy, 0.8, 8}, {saturate, 1.0, 2}},
	{{saturate, 0.8, 8}, {solarize, 0.8, 7}},
	{{sharpen, 0.4, 7}, {invert, 0.6, 0}},
	{{shearX, 0.6, 5}, {equalize, 1.0, 0}},
	{{saturate, 0.4, 0}, {equalize, 0.6, 0}},
	{{equalize, 0.4, 0}, {solarize, 0.2, 4}},
	{{solarize, 0.6, 5}, {autoContrast, 0.6, 0}},
	{{invert, 0.6, 0}, {equalize, 1.0, 0}},
	{{saturate, 0.6, 4}, {contrastBy, 1.0, 8}},
	{{equalize, 0.8, 0}, {equalize, 0.6, 0}},
}

// cifarPolicy is what it found for CIFAR-10.
var cifarPolicy = []subPolicy{
	{{invert, 0.1, 0}, {contrastBy, 0.2, 6}},
	{{rotateBy, 0.7, 2}, {translateX, 0.3, 9}},
	{{sharpen, 0.8, 1}, {sharpen, 0.9, 3}},
	{{shearY, 0.5, 8}, {translateY, 0.7, 9}},
	{{autoContrast, 0.5, 0}, {equalize, 0.9, 0}},
	{{shearY, 0.2, 7}, {posterize, 0.3, 7}},
	{{saturate, 0.4, 3}, {brighten, 0.6, 7}},
	{{sharpen, 0.3, 9}, {brighten, 0.7, 9}},
	{{equalize, 0.6, 0}, {equalize, 0.5, 0}},
	{{contrastBy, 0.6, 7}, {sharpen, 0.6, 5}},
	{{saturate, 0.7, 7}, {translateX, 0.5, 8}},
	{{equalize, 0.3, 0}, {autoContrast, 0.4, 0}},
	{{translateY, 0.4, 3}, {sharpen, 0.2, 6}},
	{{brighten, 0.9, 6}, {saturate, 0.2, 8}},
	{{solarize, 0.5, 2}, {invert, 0.0, 0}},
	{{equalize, 0.2, 0}, {autoContrast, 0.6, 0}},
	{{equalize, 0.2, 0}, {equalize, 0.6, 0}},
	{{saturate, 0.9, 9}, {equalize, 0.6, 0}},
	{{autoContrast, 0.8, 0}, {solarize, 0.2, 8}},
	{{brighten, 0.1, 3}, {saturate, 0.7, 0}},
	{{solarize, 0.4, 5}, {autoContrast, 0.9, 0}},
	{{translateY, 0.9, 9}, {translateY, 0.7, 9}},
	{{autoContrast, 0.9, 0}, {solarize, 0.8, 3}},
	{{equalize, 0.8, 0}, {invert, 0.1, 0}},
	{{translateY, 0.7, 9}, {autoContrast, 0.9, 0}},
}

// svhnPolicy is what it found for SVHN, pictures of house numbers.
var svhnPolicy = []subPolicy{
	{{shearX, 0.9, 4}, {invert, 0.2, 0}},
	{{shearY, 0.9, 8}, {invert, 0.7, 0}},
	{{equalize, 0.6, 0}, {solarize, 0.6, 6}},
	{{invert, 0.9, 0}, {equalize, 0.6, 0}},
	{{equalize, 0.6, 0}, {rotateBy, 0.9, 3}},
	{{shearX, 0.9, 4}, {autoContrast, 0.8, 0}},
	{{shearY, 0.9, 8}, {invert, 0.4, 0}},
	{{shearY, 0.9, 5}, {solarize, 0.2, 6}},
	{{invert, 0.9, 0}, {autoContrast, 0.8, 0}},
	{{equalize, 0.6, 0}, {rotateBy, 0.9, 3}},
	{{shearX, 0.9, 4}, {solarize, 0.3, 3}},
	{{shearY, 0.8, 8}, {invert, 0.7, 0}},
	{{equalize, 0.9, 0}, {translateY, 0.6, 6}},
	{{invert, 0.9, 0}, {equalize, 0.6, 0}},
	{{contrastBy, 0.3, 3}, {rotateBy, 0.8, 4}},
	{{invert, 0.8, 0}, {translateY, 0.0, 2}},
	{{shearY, 0.7, 6}, {solarize, 0.4, 8}},
	{{invert, 0.6, 0}, {rotateBy, 0.8, 4}},
	{{shearY, 0.3, 7}, {translateX, 0.9, 3}},
	{{shearX, 0.1, 6}, {invert, 0.6, 0}},
	{{solarize, 0.7, 2}, {translateY, 0.6, 7}},
	{{shearY, 0.8, 4}, {invert, 0.8, 0}},
	{{shearX, 0.7, 9}, {translateY, 0.8, 3}},
	{{shearY, 0.8, 5}, {autoContrast, 0.7, 0}},
	{{shearX, 0.7, 2}, {invert, 0.1, 0}},
}
