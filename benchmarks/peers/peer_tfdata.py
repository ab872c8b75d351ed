"""tf.data on the CPU, parallelism left to AUTOTUNE."""
import os

import meter

args = meter.arguments()

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

from tfpictures import decode, normalise, train


def evaluate(file):
    x = decode(file)
    size = tf.cast(tf.shape(x)[:2], tf.float32)
    size = tf.cast(tf.round(size * (256 / tf.reduce_min(size))), tf.int32)
    x = tf.image.resize(x, size)
    return normalise(tf.image.crop_to_bounding_box(x, (size[0] - 224) // 2, (size[1] - 224) // 2, 224, 224))


def cifar(file):
    x = tf.cast(decode(file), tf.float32)
    x.set_shape([32, 32, 3])
    return normalise(x)


def source():
    """Samples without end, in a new order every epoch, and how many an epoch has."""
    samples = meter.mnist(args.data) if args.workload == "mnist" else meter.jpegs(args.data)
    n = len(samples[0] if args.workload == "mnist" else samples)
    data = tf.data.Dataset.from_tensor_slices(samples)
    return (data.shuffle(n) if args.shuffle else data).repeat(), n


data, samples = source()
if args.workload == "mnist":
    data = data.batch(args.batch).map(lambda x, y: (tf.cast(x, tf.float32) / 255, tf.one_hot(y, 10)), tf.data.AUTOTUNE)
elif args.workload == "decode":
    data = data.map(decode, tf.data.AUTOTUNE)
else:
    data = data.map({"train": train, "eval": evaluate, "cifar": cifar}[args.workload], tf.data.AUTOTUNE).batch(args.batch)
# An epoch is rounded up to whole batches.
STEPS = samples if args.workload == "decode" else -(-samples // args.batch)
options = tf.data.Options()
options.deterministic = False
batches = iter(data.prefetch(tf.data.AUTOTUNE).with_options(options))


def epoch():
    for _ in range(STEPS):
        batch = next(batches)
        x = (batch[0] if args.workload == "mnist" else batch).numpy()
        x.flat[0]
        yield 1 if args.workload == "decode" else len(x)


meter.measure(args, tf.__version__, epoch)
