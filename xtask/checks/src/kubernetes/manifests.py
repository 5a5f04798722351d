"""Prints the manifests in a folder as JSON, with the errors that the schemas of some Kubernetes versions find in them."""

import json
import pathlib
import sys

import kubernetes_validate
import yaml

FOLDER, VERSIONS = pathlib.Path(sys.argv[1]), sys.argv[2:]
# kustomize reads these, and never sends them to a cluster.
OURS = "kustomize.config.k8s.io/"


class Loader(yaml.SafeLoader):
    """Rejects duplicate keys, of which YAML would take the last."""


def mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.constructor.ConstructorError(None, None, f"duplicate key: {twice.pop()}", node.start_mark)
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def complaint(document, version):
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        place = ".".join(str(step) for step in error.path)
        return f"{place or 'it'}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        return error.message
    return None


manifests, complaints = [], []
for path in sorted(FOLDER.glob("*.yaml")):
    try:
        documents = [document for document in yaml.load_all(path.read_text(), Loader) if document]
    except yaml.YAMLError as error:
        complaints.append(f"{path.name}: {' '.join(str(error).split())}")
        continue
    for document in documents:
        if not isinstance(document, dict) or not {"apiVersion", "kind"} <= document.keys():
            complaints.append(f"{path.name}: a document without apiVersion and kind")
            continue
        manifests.append({"file": path.name, "document": document})
        if document["apiVersion"].startswith(OURS):
            continue
        if not isinstance(document.get("metadata"), dict):
            complaints.append(f"{path.name}: a {document['kind']} without metadata")
            continue
        name = f"{document['kind']} {document['metadata'].get('name')}"
        for version in VERSIONS:
            found = complaint(document, version)
            if found:
                complaints.append(f"{path.name}: {name}, Kubernetes {version}: {found}")
json.dump({"manifests": manifests, "complaints": complaints}, sys.stdout)
