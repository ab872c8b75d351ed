"""tf.data on the CPU, parallelism left to AUTOTUNE."""
import os

import meter

args = meter.arguments()

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

MEAN = 255 * tf.constant(meter.MEAN)
SCALE = 1 / (255 * tf.constant(meter.STD))


def normalise(x):
    return tf.transpose((x - MEAN) * SCALE, [2, 0, 1])


def train(file):
    data = tf.io.read_file(file)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(data), tf.zeros([0, 0, 4]), area_range=(0.08, 1), aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10, min_object_covered=0.0, use_image_if_no_bounding_boxes=True)
    x = tf.image.decode_and_crop_jpeg(data, tf.concat([begin[:2], size[:2]], 0), channels=3)
    x = tf.image.resize(x, [224, 224])
    return normalise(tf.image.random_flip_left_right(x))


def evaluate(file):
    x = decode(file)
    size = tf.cast(tf.shape(x)[:2], tf.float32)
    size = tf.cast(tf.round(size * (256 / tf.reduce_min(size))), tf.int32)
    x = tf.image.resize(x, size)
    return normalise(tf.image.crop_to_bounding_box(x, (size[0] - 224) // 2, (size[1] - 224) // 2, 224, 224))


def decode(file):
    return tf.io.decode_jpeg(tf.io.read_file(file), channels=3)


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
