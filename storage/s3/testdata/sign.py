"""Prints the signatures of botocore that sign_test.go compares with: python3 sign.py"""
import datetime
import botocore.auth
import botocore.awsrequest
import botocore.credentials

AT = datetime.datetime(2026, 2, 28, 23, 59, 59)


def escape(key):
    return "".join(chr(b) if b < 128 and (chr(b).isalnum() or chr(b) in "-._~/") else "%%%02X" % b for b in key.encode())


def go(s):
    return '"' + "".join(c if 32 <= ord(c) < 127 and c not in '"\\' else "\\u%04x" % ord(c) for c in s) + '"'


botocore.auth.get_current_datetime = lambda remove_tzinfo=True: AT
CASES = [
    ("http://localhost:9000", "data", "train/a.tar", "", "us-east-1", ""),
    ("http://localhost:9000/base", "data", "a b+c%2F/é/漢~.jpg", "", "eu-central-1", ""),
    ("", "bucket", "train/=&?#;:@,!$'()*[].jpg", "", "ap-southeast-2", ""),
    ("", "dotted.bucket", "x", "", "us-west-2", "token/with+chars=="),
    ("", "bucket", "x", "", "cn-north-1", ""),
    ("https://storage.googleapis.com", "bucket", "", "continuation-token=a%2Fb%3D%3D&delimiter=%2F&encoding-type=url&list-type=2&prefix=tr%20ain%2F", "auto", ""),
]
for endpoint, bucket, key, query, region, token in CASES:
    base = endpoint
    if not base:
        domain = "s3.%s.amazonaws.com%s" % (region, ".cn" if region.startswith("cn-") else "")
        base = "https://" + domain + "/" + bucket if "." in bucket else "https://" + bucket + "." + domain
    else:
        base += "/" + bucket
    r = botocore.awsrequest.AWSRequest(method="GET", url=base + "/" + escape(key) + ("?" + query if query else ""))
    r.context["payload_signing_enabled"] = True
    botocore.auth.S3SigV4Auth(botocore.credentials.Credentials("AKID", "se/cret+", token or None), "s3", region).add_auth(r)
    print("\t{%s}," % ", ".join(go(x) for x in (endpoint, bucket, key, query, region, token, r.headers["Authorization"].split("Signature=")[1])))
