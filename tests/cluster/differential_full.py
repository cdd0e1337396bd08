"""Objects in which every field says something, with one place after the other spoiled: what the real server refuses of them, ours refuses in the same words."""
import copy
import random

POD = {'containers': [{'name': 'c',
                 'image': 'i',
                 'command': ['a'],
                 'args': ['b'],
                 'workingDir': '/w',
                 'ports': [{'name': 'p', 'containerPort': 80, 'hostPort': 81, 'hostIP': '1.2.3.4', 'protocol': 'TCP'}],
                 'envFrom': [{'prefix': 'P', 'configMapRef': {'name': 'x', 'optional': True}}, {'secretRef': {'name': 'y'}}],
                 'env': [{'name': 'A', 'value': 'b'}, {'name': 'F', 'valueFrom': {'fieldRef': {'apiVersion': 'v1', 'fieldPath': 'metadata.name'}}},
                         {'name': 'R', 'valueFrom': {'resourceFieldRef': {'containerName': 'c', 'resource': 'limits.cpu', 'divisor': '1'}}},
                         {'name': 'S', 'valueFrom': {'secretKeyRef': {'name': 's', 'key': 'k', 'optional': False}}},
                         {'name': 'M', 'valueFrom': {'configMapKeyRef': {'name': 's', 'key': 'k'}}}],
                 'resources': {'limits': {'cpu': '2', 'memory': '1Gi'}, 'requests': {'cpu': '1'}, 'claims': [{'name': 'cl', 'request': 'r'}]},
                 'resizePolicy': [{'resourceName': 'cpu', 'restartPolicy': 'NotRequired'}],
                 'volumeMounts': [{'name': 'v0', 'mountPath': '/m', 'subPath': 's', 'readOnly': False, 'mountPropagation': 'None'},
                                  {'name': 'v1', 'mountPath': '/n', 'subPathExpr': '$(A)', 'readOnly': True, 'recursiveReadOnly': 'Disabled'}],
                 'volumeDevices': [{'name': 'v2', 'devicePath': '/d'}],
                 'livenessProbe': {'httpGet': {'path': '/', 'port': 80, 'host': 'h', 'scheme': 'HTTP', 'httpHeaders': [{'name': 'H', 'value': 'v'}]},
                                   'initialDelaySeconds': 1,
                                   'timeoutSeconds': 1,
                                   'periodSeconds': 1,
                                   'successThreshold': 1,
                                   'failureThreshold': 1,
                                   'terminationGracePeriodSeconds': 5},
                 'readinessProbe': {'tcpSocket': {'port': 80, 'host': 'h'}},
                 'startupProbe': {'grpc': {'port': 80, 'service': 's'}},
                 'lifecycle': {'postStart': {'exec': {'command': ['a']}}, 'preStop': {'httpGet': {'path': '/', 'port': 'p', 'scheme': 'HTTPS'}}},
                 'terminationMessagePath': '/t',
                 'terminationMessagePolicy': 'File',
                 'imagePullPolicy': 'Always',
                 'securityContext': {'capabilities': {'add': ['A'], 'drop': ['B']},
                                     'privileged': False,
                                     'runAsUser': 1,
                                     'runAsGroup': 1,
                                     'runAsNonRoot': True,
                                     'readOnlyRootFilesystem': True,
                                     'allowPrivilegeEscalation': True,
                                     'procMount': 'Default',
                                     'seccompProfile': {'type': 'Localhost', 'localhostProfile': 'p'},
                                     'appArmorProfile': {'type': 'RuntimeDefault'},
                                     'seLinuxOptions': {'user': 'u', 'role': 'r', 'type': 't', 'level': 'l'}},
                 'stdin': True,
                 'stdinOnce': True,
                 'tty': True}],
 'initContainers': [{'name': 'i', 'image': 'i', 'restartPolicy': 'Always'}],
 'volumes': [{'name': 'v0', 'emptyDir': {'medium': 'Memory', 'sizeLimit': '1Gi'}}, {'name': 'v1', 'hostPath': {'path': '/h', 'type': 'Directory'}},
             {'name': 'v2', 'persistentVolumeClaim': {'claimName': 'c', 'readOnly': False}},
             {'name': 'v3', 'configMap': {'name': 'c', 'defaultMode': 420, 'items': [{'key': 'k', 'path': 'p', 'mode': 256}], 'optional': True}},
             {'name': 'v4', 'secret': {'secretName': 's', 'items': [{'key': 'k', 'path': 'p'}], 'defaultMode': 420}},
             {'name': 'v5',
              'downwardAPI': {'items': [{'path': 'p', 'fieldRef': {'fieldPath': 'metadata.labels'}},
                                        {'path': 'q', 'resourceFieldRef': {'containerName': 'c', 'resource': 'limits.cpu', 'divisor': '1m'}}]}},
             {'name': 'v6',
              'projected': {'defaultMode': 420,
                            'sources': [{'serviceAccountToken': {'audience': 'a', 'expirationSeconds': 600, 'path': 't'}},
                                        {'configMap': {'name': 'c', 'items': [{'key': 'k', 'path': 'pp'}]}}, {'secret': {'name': 's'}},
                                        {'downwardAPI': {'items': [{'path': 'dd', 'fieldRef': {'fieldPath': 'metadata.name'}}]}},
                                        {'clusterTrustBundle': {'name': 'b', 'path': 'bb'}}]}},
             {'name': 'v7',
              'ephemeral': {'volumeClaimTemplate': {'metadata': {'labels': {'a': 'b'}},
                                                    'spec': {'accessModes': ['ReadWriteOnce'],
                                                             'resources': {'requests': {'storage': '1Gi'}},
                                                             'storageClassName': 'sc',
                                                             'volumeMode': 'Filesystem'}}}},
             {'name': 'v8', 'nfs': {'server': 's', 'path': '/p'}},
             {'name': 'v9', 'csi': {'driver': 'd', 'fsType': 'ext4', 'volumeAttributes': {'a': 'b'}, 'nodePublishSecretRef': {'name': 's'}}},
             {'name': 'v10', 'image': {'reference': 'r', 'pullPolicy': 'Always'}},
             {'name': 'v11',
              'iscsi': {'targetPortal': '1.2.3.4',
                        'iqn': 'iqn.2001-04.com.example:x',
                        'lun': 0,
                        'iscsiInterface': 'd',
                        'fsType': 'ext4',
                        'portals': ['a']}}],
 'restartPolicy': 'Always',
 'terminationGracePeriodSeconds': 30,
 'activeDeadlineSeconds': None,
 'dnsPolicy': 'ClusterFirst',
 'nodeSelector': {'a': 'b'},
 'serviceAccountName': 's',
 'automountServiceAccountToken': True,
 'nodeName': 'n',
 'hostNetwork': False,
 'hostPID': False,
 'hostIPC': False,
 'shareProcessNamespace': False,
 'securityContext': {'seLinuxOptions': {'level': 'l'},
                     'runAsUser': 1,
                     'runAsGroup': 2,
                     'runAsNonRoot': True,
                     'supplementalGroups': [1],
                     'supplementalGroupsPolicy': 'Merge',
                     'fsGroup': 3,
                     'sysctls': [{'name': 'kernel.shm_rmid_forced', 'value': '1'}],
                     'fsGroupChangePolicy': 'Always',
                     'seccompProfile': {'type': 'RuntimeDefault'},
                     'appArmorProfile': {'type': 'Localhost', 'localhostProfile': 'p'},
                     'seLinuxChangePolicy': 'Recursive'},
 'imagePullSecrets': [{'name': 's'}],
 'hostname': 'h',
 'subdomain': 'd',
 'setHostnameAsFQDN': False,
 'affinity': {'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'a',
                                                                                                                               'operator': 'In',
                                                                                                                               'values': ['b']}],
                                                                                                         'matchFields': [{'key': 'metadata.name',
                                                                                                                          'operator': 'In',
                                                                                                                          'values': ['n']}]}]},
                               'preferredDuringSchedulingIgnoredDuringExecution': [{'weight': 1,
                                                                                    'preference': {'matchExpressions': [{'key': 'a',
                                                                                                                         'operator': 'Gt',
                                                                                                                         'values': ['1']}]}}]},
              'podAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [{'labelSelector': {'matchLabels': {'a': 'b'}},
                                                                                  'topologyKey': 't',
                                                                                  'namespaces': ['n'],
                                                                                  'namespaceSelector': {'matchExpressions': [{'key': 'a',
                                                                                                                              'operator': 'Exists'}]},
                                                                                  'matchLabelKeys': ['x']}],
                              'preferredDuringSchedulingIgnoredDuringExecution': [{'weight': 100, 'podAffinityTerm': {'topologyKey': 't'}}]},
              'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [{'topologyKey': 'k'}]}},
 'schedulerName': 's',
 'tolerations': [{'key': 'k', 'operator': 'Equal', 'value': 'v', 'effect': 'NoExecute', 'tolerationSeconds': 5}, {'operator': 'Exists'}],
 'hostAliases': [{'ip': '1.2.3.4', 'hostnames': ['a']}],
 'priorityClassName': '',
 'dnsConfig': {'nameservers': ['1.1.1.1'], 'searches': ['a.b'], 'options': [{'name': 'n', 'value': 'v'}]},
 'readinessGates': [{'conditionType': 'a/b'}],
 'runtimeClassName': 'r',
 'enableServiceLinks': True,
 'preemptionPolicy': 'Never',
 'overhead': {'cpu': '1'},
 'topologySpreadConstraints': [{'maxSkew': 1,
                                'topologyKey': 't',
                                'whenUnsatisfiable': 'DoNotSchedule',
                                'labelSelector': {'matchLabels': {'a': 'b'}},
                                'minDomains': 1,
                                'nodeAffinityPolicy': 'Honor',
                                'nodeTaintsPolicy': 'Ignore',
                                'matchLabelKeys': ['x']}],
 'os': {'name': 'linux'},
 'hostUsers': True,
 'schedulingGates': [{'name': 'a/b'}],
 'resourceClaims': [{'name': 'cl', 'resourceClaimName': 'x'}]}
DROPPED = object()
DRAWN = 120  # of some 1,500 ways to spoil a pod


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in items:
        yield path + (step,), below
        yield from places(below, path + (step,))


def wrong(value):
    """What is put in its place."""
    if isinstance(value, bool) or value is None:
        return (DROPPED,)
    if isinstance(value, int):
        return (0, -1, 70000, 2147483647, DROPPED)
    if isinstance(value, str):
        return ("", "X y", "a" * 64, "-1", DROPPED)
    return ({}, DROPPED) if isinstance(value, dict) else ([], value + value, DROPPED)


def put(body, path, value):
    for step in path[:-1]:
        body = body[step]
    if value is DROPPED:
        del body[path[-1]]
    else:
        body[path[-1]] = value


def shape(answer):
    """The object, or what is wrong with it: causes are a set."""
    if answer.status >= 300:
        causes = (answer.body.get("details") or {}).get("causes") or [{"message": answer.body.get("message")}]
        return {"status": answer.status, "causes": sorted({f"{c.get('field')}: {c.get('reason')}: {c.get('message')}" for c in causes})}
    return {"status": answer.status, "spec": answer.body["spec"], "warnings": answer.warnings}


def templates(seed):
    """A Deployment with the pod as its template."""
    def play(s):
        rng = random.Random(seed)
        path = "/apis/apps/v1" + s.namespace().removeprefix("/api/v1") + "/deployments?dryRun=All"
        for at, value in rng.sample([(p, w) for p, v in places(POD) for w in wrong(v)], DRAWN):
            spec = copy.deepcopy(POD)
            put(spec, at, value)
            answer = s.ask("POST", path, {"metadata": {"name": "x"}, "spec": {
                "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}})
            s.record(f"{at} {'dropped' if value is DROPPED else value}", shape(answer))
    return play


def scripts(seeds):
    yield from ((f"full_{seed}", templates(seed)) for seed in seeds)
