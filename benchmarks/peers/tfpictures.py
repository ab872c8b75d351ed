"""What the peers that stand on tf.data share: how a picture is made."""
import tensorflow as tf

import meter

MEAN = 255 * tf.constant(meter.MEAN)
SCALE = 1 / (255 * tf.constant(meter.STD))


def normalise(x):
    return tf.transpose((x - MEAN) * SCALE, [2, 0, 1])


def decode(file):
    return tf.io.decode_jpeg(tf.io.read_file(file), channels=3)


def train(file):
    data = tf.io.read_file(file)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(data), tf.zeros([0, 0, 4]), area_range=(0.08, 1), aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10, min_object_covered=0.0, use_image_if_no_bounding_boxes=True)
    x = tf.image.decode_and_crop_jpeg(data, tf.concat([begin[:2], size[:2]], 0), channels=3)
    x = tf.image.resize(x, [224, 224])
    return normalise(tf.image.random_flip_left_right(x))
