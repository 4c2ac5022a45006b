"""Sidevault's services as the running service itself describes them, without .proto files, as grpcurl does.

    python explore.py 127.0.0.1:8080 list
    python explore.py 127.0.0.1:8080 describe sidevault.v1.Tokens
    SIDEVAULT_BOOTSTRAP_KEY=<management key> python explore.py 127.0.0.1:8080 call sidevault.v1.Applications/List
"""

import os
import sys

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


def describe(service):
    return [f"{m.name}({m.input_type.full_name}) returns ({m.output_type.full_name})" for m in service.methods]


def call(channel, pool, name, text):
    service, method = name.split("/")
    described = pool.FindServiceByName(service).methods_by_name[method]
    request = message_factory.GetMessageClass(described.input_type)()
    json_format.Parse(text, request, descriptor_pool=pool)
    answer_type = message_factory.GetMessageClass(described.output_type)
    invoke = channel.unary_unary(
        f"/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=answer_type.FromString,
    )
    answer = invoke(request, metadata=[("svc-api-key", os.environ.get("SIDEVAULT_BOOTSTRAP_KEY", ""))], timeout=10)
    return json_format.MessageToJson(answer, preserving_proto_field_name=True, descriptor_pool=pool)


def main(address, command, *rest):
    with grpc.insecure_channel(address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        pool = descriptor_pool.DescriptorPool(database)
        if command == "list":
            print("\n".join(sorted(database.get_services())))
        elif command == "describe":
            print("\n".join(describe(pool.FindServiceByName(rest[0]))))
        elif command == "call":
            print(call(channel, pool, rest[0], rest[1] if len(rest) > 1 else "{}"))
        else:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
