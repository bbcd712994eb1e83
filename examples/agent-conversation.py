"""A conversation of an agent with `tenure mcp`, printed as it happens: a change, a conflict, and a person who changes something.

The agent is a script here, so that the conversation is the same every time; the calls and the answers are real. It needs a cluster, the
program `tenure` and the package `mcp` of PyPI:

    tenure serve --in-memory &
    KUBECONFIG=tenure-data/kubeconfig python3 examples/agent-conversation.py
"""

import asyncio
import json
import os
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

TENURE = os.environ.get("TENURE", "tenure")
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1.27'}]}
"""


def person(*words, manifest=""):
    """Something that a person does in a terminal."""
    print(f"person> tenure {' '.join(words)}")
    subprocess.run([TENURE, *words], input=manifest, text=True, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def think(text):
    print(f"\nagent: {text}")


async def call(session, tool, **arguments):
    result = await session.call_tool(tool, arguments)
    print(f"  {tool} {short(arguments)}")
    for line in result.content[0].text.splitlines():
        print(f"  -> {timeless(line)}")
    return result.structured_content


def short(arguments):
    """Shows arguments without what differs from cluster to cluster, and manifests without their beginning."""
    text = arguments | ({"digest": "sha256:…"} if "digest" in arguments else {})
    if "manifests" in text:
        text["manifests"] = [{"kind": "Deployment", "…": "…", "spec": one["spec"]} for one in text["manifests"]]
    return json.dumps(text, ensure_ascii=False).replace('"…": "…"', "…")


def timeless(line):
    """Shows a line without digests and ages."""
    words = ["sha256:…" if word.startswith("sha256:") else word for word in line.split(" ")]
    words = ["now)" + word[len(word.rstrip(":")) :] if word.rstrip(":")[-2:] == "s)" and word[0].isdigit() else word for word in words]
    return " ".join(words)


def web(**spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


async def conversation(session):
    await session.initialize()
    thing = {"kind": "deployment", "name": "web"}

    think("The task is: web runs out of memory, give it a limit. Who owns what of it?")
    await call(session, "get", object=thing, fields=[".spec.template.spec.containers"])
    await call(session, "blame", object=thing)

    think("I set the limit and nothing else. Three replicas would be better, too.")
    container = {"name": "web", "resources": {"limits": {"memory": "256Mi"}}}
    template = {"spec": {"containers": [container]}}
    manifest = web(replicas=3, template=template)
    plan = await call(session, "plan", task="memory-limit", manifests=[manifest])
    cause = plan["plans"][0]["causes"][0]
    print(f"     {cause['message']}")
    for remedy in cause["remedies"]:
        print(f"     - {remedy['kind']}: {remedy['effect']} ({remedy['cost']})")

    think("The replicas are not mine: I leave them out, as the first remedy says.")
    remedy = cause["remedies"][0]["call"]["arguments"]
    plan = await call(session, "plan", **remedy, manifests=[manifest])
    for value in plan["plans"][0]["values"]:
        before, after = (json.dumps(value[side]) if side in value else "(not set)" for side in ("before", "after"))
        print(f"     {value['path']}: {before} -> {after}")
    first = plan["digest"]

    think("I carry out exactly this plan.")
    await call(session, "apply_plan", digest=first)

    think("Now a later call of mine forgets the limit.")
    plan = await call(session, "plan", task="memory-limit", manifests=[web(template={"metadata": {"labels": {"tier": "front"}}})])
    print(f"     {plan['next'][0]['why']}")

    think("With the limit it is ready. But somebody changes web before I carry it out.")
    template = {"metadata": {"labels": {"tier": "front"}}, "spec": {"containers": [container]}}
    plan = await call(session, "plan", task="memory-limit", manifests=[web(template=template)], pin="versions")
    person("apply", "-f", "-", "--manager", "ci", manifest=WEB.replace("1.27", "1.28"))
    await call(session, "apply_plan", digest=plan["digest"])

    think("The person was faster; the limit is to go again. The undo is a plan, too.")
    undo = await call(session, "undo", digest=first)
    await call(session, "apply_plan", digest=undo["digest"])


async def main():
    subprocess.run(
        [TENURE, "apply", "-f", "-", "--manager", "ci"], input=WEB, text=True, check=True, stdout=subprocess.DEVNULL
    )
    parameters = StdioServerParameters(command=TENURE, args=["mcp"], env=dict(os.environ))
    async with stdio_client(parameters, errlog=sys.stderr) as (read, write):
        async with ClientSession(read, write) as session:
            await conversation(session)


asyncio.run(main())
