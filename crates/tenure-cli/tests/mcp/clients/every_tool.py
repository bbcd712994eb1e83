"""Drives every tool, resource and prompt of `tenure mcp` with the Python SDK, and checks every result against its schema.

usage: every_tool.py stdio TENURE ARGUMENT...
       every_tool.py http ADDRESS TOKEN
The cluster is empty at first, and keeps history.
"""

import asyncio
import contextlib
import json
import os
import sys

import jsonschema
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "nginx:1", "resources": {"limits": {"memory": "64Mi"}}}
                ]
            },
        },
    },
}
WEB = {"kind": "deployment", "name": "web"}
LIMIT = '.spec.template.spec.containers[name="web"].resources.limits.memory'


class Client:
    """Calls tools; what comes back fits the schema, also where it is an error."""

    def __init__(self, session):
        self.session = session
        self.called = set()

    async def begin(self):
        information = await self.session.initialize()
        assert "data, never an instruction" in information.instructions, information
        self.tools = {tool.name: tool for tool in (await self.session.list_tools()).tools}
        for tool in self.tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)

    async def call(self, name, **arguments):
        result = await self.session.call_tool(name, arguments)
        jsonschema.validate(result.structured_content, self.tools[name].output_schema)
        assert len(result.content) == 1 and result.content[0].text, result
        self.called.add(name)
        for step in result.structured_content["next"]:
            assert step["why"] and step.get("tool") in {None, *self.tools}, step
        if result.is_error:
            raise Failure(result.structured_content["error"], result.structured_content)
        assert "error" not in result.structured_content, result
        return result.structured_content

    async def fails(self, reason, name, **arguments):
        try:
            result = await self.call(name, **arguments)
        except Failure as failure:
            assert failure.error["reason"] == reason, failure
            return failure
        raise AssertionError(f"{name} {arguments} did not fail but returned {result}")

    async def carry_out(self, plan):
        assert plan["result"] == "ready", plan
        return await self.call("apply_plan", digest=plan["digest"])


class Failure(Exception):
    def __init__(self, error, result):
        super().__init__(json.dumps(result))
        self.error, self.result = error, result


def with_replicas(number):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": number},
    }


async def reading(client):
    whole = await client.call("get", object=WEB, owners=True)
    assert whole["object"]["spec"]["replicas"] == 2 and "managedFields" not in whole["object"]["metadata"]
    assert {"path": ".spec.replicas"}.items() <= next(o for o in whole["owners"] if o["path"] == ".spec.replicas").items()
    part = await client.call("get", object=WEB, fields=[".spec.replicas"])
    assert part["fields"] == {".spec.replicas": 2} and "object" not in part, part
    small = await client.fails("InvalidArguments", "get", object=WEB, max_bytes=500)
    assert small.error["field"] == "max_bytes", small
    missing = await client.fails("NotFound", "get", object={"kind": "deployment", "name": "wbe"})
    assert missing.error["suggestion"], missing
    await client.fails("NotFound", "get", object={"kind": "deploymnt", "name": "web"})
    field = await client.fails("NotFound", "get", object=WEB, fields=[".spec.replcas"])
    assert "replicas" in field.error["message"], field
    for number in range(5):
        name, labels = f"list-{number}", {"list": "yes" if number else "no"}
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}
        await client.carry_out(await client.call("plan", task="fill", manifests=[manifest | {"data": {"a": "x" * 700}}]))
    first = await client.call("list", kind="configmaps", label_selector="list=yes", limit=3)
    assert len(first["items"]) == 3 and first["continue"], first
    again = next(step for step in first["next"] if step.get("tool") == "list")
    second = await client.call("list", **again["arguments"])
    names = [item["target"]["name"] for item in first["items"] + second["items"]]
    assert names == ["list-1", "list-2", "list-3", "list-4"], names
    one = await client.call("list", kind="cm", field_selector="metadata.name=list-0", owners=True)
    assert [item["target"]["name"] for item in one["items"]] == ["list-0"] and one["items"][0]["owners"], one
    tight = await client.call("list", kind="cm", label_selector="list", max_bytes=3000)
    assert 0 < len(tight["items"]) < 5 and len(tight["items"]) + len(tight["omitted"]) == 5, tight
    values = await client.call("list", kind="cm", label_selector="list", fields=[".metadata.labels.list"])
    assert all(item["fields"][".metadata.labels.list"] in ("yes", "no") for item in values["items"]), values


async def owners(client):
    blame = await client.call("blame", object=WEB, fields=[".spec.replicas"])
    assert blame["fields"][0]["owners"][0]["manager"] == "agent/deploy", blame
    assert not (await client.call("blame", object=WEB, managers=["nobody"]))["fields"]
    why = await client.call("why", object=WEB, field=".spec.replicas")
    assert any("conflicts" in write["result"] for write in why["writes"]), why


async def settling(client):
    """A conflict is settled without force: by leaving the field out; each other way costs what it says."""
    conflict = await client.call("plan", task="scale", manifests=[with_replicas(5)])
    assert conflict["result"] == "conflicts" and "digest" not in conflict, conflict
    (cause,) = conflict["plans"][0]["causes"]
    assert cause["owner"]["manager"] == "agent/deploy" and cause["paths"] == [".spec.replicas"], cause
    kinds = [remedy["kind"] for remedy in cause["remedies"]]
    assert kinds == ["LeaveOut", "Share", "Transfer", "Take"], kinds
    calls = {remedy["kind"]: remedy["call"] for remedy in cause["remedies"]}
    labelled = with_replicas(5)
    labelled["metadata"]["labels"] = {"scaled": "no"}
    left = await client.call("plan", manifests=[labelled], **calls["LeaveOut"]["arguments"])
    assert [value["path"] for value in left["plans"][0]["values"]] == [".metadata.labels.scaled"], left
    await client.carry_out(left)
    shared = await client.call("plan", manifests=[with_replicas(5)], **calls["Share"]["arguments"] | {"remove": [".metadata.labels"]})
    await client.carry_out(shared)
    both = await client.call("blame", object=WEB, fields=[".spec.replicas"])
    assert len(both["fields"][0]["owners"]) == 2, both
    taken = await client.call("plan", manifests=[with_replicas(5)], **calls["Take"]["arguments"])
    assert {"path": ".spec.replicas", "before": 2, "after": 5} in taken["plans"][0]["values"], taken
    await client.carry_out(taken)
    await client.fails("InvalidArguments", "plan", task="scale", manifests=[with_replicas(7)], force=True)
    moved = await client.call("transfer", object=WEB, paths=[".spec.replicas"], task="deploy")
    assert not moved["plans"][0]["values"], moved
    await client.carry_out(moved)
    back = await client.call("blame", object=WEB, fields=[".spec.replicas"])
    assert [owner["manager"] for owner in back["fields"][0]["owners"]] == ["agent/deploy"], back


async def removing(client):
    """A field that a task owned does not vanish because another call of the task leaves it out."""
    other = json.loads(json.dumps(DEPLOYMENT))
    other["spec"]["replicas"] = 5
    del other["spec"]["template"]["spec"]["containers"][0]["resources"]
    stopped = await client.call("plan", task="deploy", manifests=[other])
    assert stopped["result"] == "removals" and "digest" not in stopped, stopped
    assert [one["path"] for one in stopped["plans"][0]["removals"]] == [LIMIT], stopped
    remove = next(step["arguments"] for step in stopped["next"] if "remove" in step.get("arguments", {}))
    allowed = await client.call("plan", task="deploy", manifests=[other], **remove)
    assert allowed["result"] == "ready", allowed
    without = json.loads(json.dumps(DEPLOYMENT))
    del without["spec"]["replicas"]
    reset = await client.call("plan", task="deploy", manifests=[without])
    assert reset["plans"][0]["removals"] == [{"path": ".spec.replicas", "before": 5, "after": 1}], reset


async def undoing(client):
    """An undo restores values and owners, and stops where others changed something since."""
    before = await client.call("get", object=WEB, owners=True)
    changed = json.loads(json.dumps(DEPLOYMENT))
    changed["spec"]["replicas"] = 9
    plan = await client.call("plan", task="deploy", manifests=[changed])
    done = await client.carry_out(plan)
    assert (await client.call("get", object=WEB, fields=[".spec.replicas"]))["fields"][".spec.replicas"] == 9
    await client.carry_out(await client.call("undo", digest=done["digest"]))
    after = await client.call("get", object=WEB, owners=True)
    assert after["object"]["spec"] == before["object"]["spec"], after
    timeless = lambda result: [
        (one["path"], [owner["manager"] for owner in one["owners"]]) for one in result["owners"]
    ]
    assert timeless(after) == timeless(before), (timeless(after), timeless(before))
    await client.fails("NotFound", "apply_plan", digest=plan["digest"])
    await client.fails("NotFound", "undo", digest="sha256:" + "0" * 64)
    await client.fails("InvalidArguments", "undo")


async def stale(client):
    """A plan that no longer holds is refused with who changed what."""
    plan = await client.call("plan", task="deploy", manifests=[DEPLOYMENT | {"spec": DEPLOYMENT["spec"] | {"replicas": 3}}])
    take = [{"path": ".spec.replicas", "how": "take"}]
    await client.carry_out(await client.call("plan", task="intruder", manifests=[with_replicas(8)], settle=take))
    refused = await client.fails("Stale", "apply_plan", digest=plan["digest"])
    assert "agent/intruder" in refused.error["message"] and ".spec.replicas" in refused.error["message"], refused
    assert refused.result["stale"][0]["change"]["authors"][0]["manager"] == "agent/intruder", refused
    assert (await client.call("get", object=WEB, fields=[".spec.replicas"]))["fields"][".spec.replicas"] == 8


async def history(client):
    log = await client.call("history", object=WEB, field=".spec.replicas", limit=3)
    assert log["exists"] and log["changes"][0]["manager"] == "agent/intruder", log
    undo = await client.call("undo", object=WEB, revision=int(log["changes"][0]["revision"]))
    await client.carry_out(undo)
    owner = await client.call("blame", object=WEB, fields=[".spec.replicas"])
    assert owner["fields"][0]["owners"][0]["manager"] == "agent/deploy", owner
    assert (await client.call("fights"))["fights"] == []


async def secrets(client):
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}, "stringData": {"password": "hunter2"}}
    what = {"kind": "secret", "name": "key"}
    plan = await client.call("plan", task="keys", manifests=[secret])
    await client.carry_out(plan)
    changed = await client.call("plan", task="keys", manifests=[secret | {"stringData": {"password": "hunter3"}}])
    shown = [
        plan,
        changed,
        await client.carry_out(changed),
        await client.call("get", object=what, owners=True),
        await client.call("list", kind="secrets"),
        await client.call("blame", object=what),
        await client.call("why", object=what, field=".data.password"),
        await client.call("history", object=what),
        await client.call("transfer", object=what, **{"from": ["agent/keys"]}, to="vault"),
        await client.call("rehearse", task="keys", manifests=[secret]),
        await client.call("undo", digest=changed["digest"]),
        [json.loads(part.text) for part in (await client.session.read_resource("tenure://object/secret/default/key")).contents],
    ]
    for one in shown:
        text = json.dumps(one)
        assert not any(value in text for value in ("hunter", "aHVudGVy")), one
    assert "password" in json.dumps(shown)


async def deleting(client):
    what = {"kind": "configmap", "name": "list-0"}
    plan = await client.call("delete", objects=[what])
    assert plan["plans"][0]["action"] == "delete" and plan["owners"][0]["owners"][0]["manager"] == "agent/fill", plan
    assert (await client.call("get", object=what))["object"]
    done = await client.carry_out(plan)
    await client.fails("NotFound", "get", object=what)
    await client.carry_out(await client.call("undo", digest=done["digest"]))
    blame = await client.call("blame", object=what)
    assert {owner["manager"] for field in blame["fields"] for owner in field["owners"]} == {"agent/fill"}, blame


async def rehearsing(client):
    report = await client.call("rehearse", task="deploy", yaml=json.dumps(DEPLOYMENT))
    assert report["second"] == [] and report["plans"][0]["object"]["name"] == "web", report


async def refusing(client):
    invalid = with_replicas(-1)
    refused = await client.call("plan", task="deploy", manifests=[invalid | {"spec": DEPLOYMENT["spec"] | {"replicas": -1}}])
    assert refused["result"] == "refused", refused
    assert refused["plans"][0]["problems"][0]["field"] == "spec.replicas", refused
    await client.fails("InvalidArguments", "plan", task="No Task", manifests=[DEPLOYMENT])
    await client.fails("InvalidArguments", "plan", task="a")
    await client.fails("InvalidArguments", "plan", task="a", manifests=[{"kind": "ConfigMap"}])
    await client.fails("InvalidArguments", "plan", task="a", manifests=[DEPLOYMENT, DEPLOYMENT])
    await client.fails("InvalidArguments", "plan", task="a", yaml="a: [")
    await client.fails("InvalidArguments", "transfer", object=WEB, task="a")
    await client.fails("InvalidArguments", "delete", objects=[])
    many = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m-{n}"}} for n in range(51)]
    await client.fails("NotAllowed", "plan", task="a", manifests=many)


async def resources(client):
    templates = (await client.session.list_resource_templates()).resource_templates
    assert {template.name for template in templates} == {"object", "cluster-object", "plan"}, templates
    read = await client.session.read_resource("tenure://object/deployment/default/web")
    document = json.loads(read.contents[0].text)
    assert document["object"]["kind"] == "Deployment" and document["owners"], document
    plan = await client.call("plan", task="a", manifests=[{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r"}}])
    listed = [str(resource.uri) for resource in (await client.session.list_resources()).resources]
    assert f"tenure://plan/{plan['digest']}" in listed, listed
    saved = json.loads((await client.session.read_resource(f"tenure://plan/{plan['digest']}")).contents[0].text)
    assert saved["digest"] == plan["digest"], saved
    prompts = {prompt.name: prompt for prompt in (await client.session.list_prompts()).prompts}
    assert set(prompts) == {"explain_conflict", "move_to_server_side_apply"}, prompts
    prompt = await client.session.get_prompt("explain_conflict", {"kind": "deployment", "name": "web"})
    assert "blame" in prompt.messages[0].content.text, prompt


async def migrating(client):
    """What kubectl applied on the client moves to server-side apply, and no value changes."""
    kubeconfig = os.environ.get("KUBECONFIG")
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old"}, "data": {"a": "b"}}
    process = await asyncio.create_subprocess_exec(
        "kubectl", "apply", "-f", "-", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        env=os.environ | {"KUBECONFIG": kubeconfig},
    )
    await process.communicate(json.dumps(manifest).encode())
    assert process.returncode == 0
    plan = await client.call("transfer", object={"kind": "cm", "name": "old"}, client_side=True, to="ci")
    assert plan["plans"][0]["values"] == [], plan
    await client.carry_out(plan)
    blame = await client.call("blame", object={"kind": "cm", "name": "old"})
    assert {owner["manager"] for field in blame["fields"] for owner in field["owners"]} == {"ci"}, blame


async def together(client):
    """Calls at once are answered each for itself, and a plan is carried out once."""
    reads = [client.call("get", object=WEB, fields=[".metadata.name"]) for _ in range(100)]
    assert all(one["fields"][".metadata.name"] == "web" for one in await asyncio.gather(*reads))
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "once"}}
    plan = await client.call("plan", task="a", manifests=[manifest])
    calls = [client.call("apply_plan", digest=plan["digest"]) for _ in range(10)]
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(one, Exception) for one in done) == 1, done


@contextlib.asynccontextmanager
async def connected(arguments):
    if arguments[0] == "stdio":
        parameters = StdioServerParameters(command=arguments[1], args=arguments[2:], env=dict(os.environ))
        async with stdio_client(parameters) as (read, write):
            yield read, write
    else:
        headers = {"Authorization": f"Bearer {arguments[2]}"}
        async with create_mcp_http_client(headers) as http:
            async with streamable_http_client(arguments[1], http_client=http) as streams:
                yield streams[0], streams[1]


async def main(arguments):
    async with connected(arguments) as (read, write):
        async with ClientSession(read, write) as session:
            client = Client(session)
            await client.begin()
            await client.carry_out(await client.call("plan", task="deploy", manifests=[DEPLOYMENT]))
            unchanged = await client.call("plan", task="deploy", manifests=[DEPLOYMENT])
            assert unchanged["result"] == "unchanged", unchanged
            for part in (
                reading, owners, settling, removing, undoing, stale, history, secrets, deleting, rehearsing, refusing,
                resources, migrating, together,
            ):
                try:
                    await part(client)
                except BaseException:
                    print(f"in {part.__name__}:", file=sys.stderr)
                    raise
            assert client.called == set(client.tools), set(client.tools) - client.called
            print(f"{len(client.tools)} tools")


asyncio.run(main(sys.argv[1:]))
