"""A client of Sidevault over gRPC: the stubs are what grpcio-tools makes of proto/sidevault/v1/*.proto.

    SIDEVAULT_BOOTSTRAP_KEY=<management key> python client.py 127.0.0.1:8080
"""

import json
import os
import sys

import grpc
from google.protobuf import json_format, struct_pb2
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sidevault.v1 import applications_pb2, applications_pb2_grpc
from sidevault.v1 import common_pb2
from sidevault.v1 import tokens_pb2, tokens_pb2_grpc


def value(data):
    """Any JSON as a google.protobuf.Value, in which data, masks and whole bodies travel."""
    return json_format.ParseDict(data, struct_pb2.Value())


def plain(message):
    """A google.protobuf.Value as Python's own dicts, lists and scalars."""
    return json_format.MessageToDict(message)


def problem_of(error):
    """The problem of a failed call, as HTTP would return it: the first detail of the status."""
    problem = common_pb2.Problem()
    rpc_status.from_call(error).details[0].Unpack(problem)
    return problem


def violations_of(error):
    """The invalid members of a call, from the detail that libraries for gRPC know."""
    bad_request = error_details_pb2.BadRequest()
    for detail in rpc_status.from_call(error).details:
        detail.Unpack(bad_request)
    return [violation.field for violation in bad_request.field_violations]


def main(address, management_key):
    with grpc.insecure_channel(address) as channel:
        applications = applications_pb2_grpc.ApplicationsStub(channel)
        tokens = tokens_pb2_grpc.TokensStub(channel)

        # A key travels as metadata, under the header prefix that the service is configured for.
        service = applications.Create(
            applications_pb2.ApplicationsCreateRequest(
                name="gRPC example",
                type="private",
                permissions=["token:create", "token:read", "token:update", "token:search"],
            ),
            metadata=[("svc-api-key", management_key)],
        )
        key = [("svc-api-key", service.key)]

        card = {"number": "4242424242424242", "expiration_month": 12, "expiration_year": 2030, "cvc": "123"}
        token, call = tokens.Create.with_call(
            tokens_pb2.TokensCreateRequest(
                type="card",
                data=value(card),
                metadata={"customer": "42"},
                expires_at="2035-01-01T00:00:00Z",
            ),
            metadata=[*key, ("svc-trace-id", "grpc-example"), ("svc-idempotency-key", os.urandom(8).hex())],
            timeout=10,
        )
        trace_id = dict(call.initial_metadata())["svc-trace-id"]

        # Unset means "as it is"; null is said by name.
        updated = tokens.Update(
            tokens_pb2.TokensUpdateRequest(
                id=token.id, data=value({"expiration_year": 2031}), null_members=["expires_at"]
            ),
            metadata=key,
        )

        body = {"name": "Ada Lovelace", "list": [1, None, {"type": "token", "data": "secret"}]}
        tokenized = tokens.Tokenize(tokens_pb2.TokensTokenizeRequest(body=value(body)), metadata=key)

        found = tokens.Search(tokens_pb2.TokensSearchRequest(query="metadata.customer:42"), metadata=key)

        try:
            tokens.Create(
                tokens_pb2.TokensCreateRequest(type="card", data=value({"number": "4242424242424241"})),
                metadata=key,
            )
            raise SystemExit("a card number without its checksum was accepted")
        except grpc.RpcError as error:
            status, problem, violations = error.code().name, problem_of(error), violations_of(error)

    print(
        json.dumps(
            {
                "trace_id": trace_id,
                "masked": plain(token.data),
                "containers": list(token.containers),
                "updated": plain(updated.data),
                "expires": updated.HasField("expires_at"),
                "tokenized": plain(tokenized.result),
                "found": [each.id == token.id for each in found.data],
                "total": found.pagination.total_items,
                "rejected": {
                    "status": status,
                    "type": problem.type,
                    "code": problem.code,
                    "violations": violations,
                    "errors": {path: list(each.sentences) for path, each in problem.errors.items()},
                },
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], os.environ["SIDEVAULT_BOOTSTRAP_KEY"])
