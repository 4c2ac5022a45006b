import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../kit/sources.ts'
import { instructionsOf, type Manifest, textOf } from './kit.ts'

const image = instructionsOf(textOf('Dockerfile'))
const last = (name: string): string => image.findLast((instruction) => instruction.name === name)?.rest ?? ''

const rootFiles = ['passwd', 'group', 'nsswitch.conf', 'hosts', 'resolv.conf', 'ld.so.cache', 'ssl']

/**
 * Work of a kubelet and a container runtime before the first process, as far as possible without them: a root of
 * its own, read-only; the volumes; user, groups, capabilities and no_new_privs as the manifest says. A chroot rejects
 * user namespaces, as the runtimes' default seccomp profiles do.
 */
const SCRIPT = `set -e
at=$1; shift
mount -t tmpfs tmpfs "$at"
for name in bin sbin lib lib64 usr; do
  if [ -L "/$name" ]; then cp -P "/$name" "$at/"
  elif [ -d "/$name" ]; then mkdir "$at/$name"; mount --rbind "/$name" "$at/$name"; fi
done
for name in proc sys dev; do mkdir "$at/$name"; mount --rbind "/$name" "$at/$name"; done
mkdir "$at/etc" "$at/image"
for name in ${rootFiles.join(' ')}; do cp -a "/etc/$name" "$at/etc/" 2>/dev/null || true; done
mount_at() { if [ -d "$1" ]; then mkdir -p "$at$2"; else touch "$at$2"; fi; mount --bind "$1" "$at$2"; mount -o "remount,bind,$3" "$at$2"; }
while [ "$1" != -- ]; do mount_at "$1" "$2" "$3"; shift 3; done; shift
mount -o remount,ro "$at"
exec chroot "$at" "$@"`

/** A volume as Kubernetes mounts it: a folder of the pod's group, secrets behind links and owned by root. */
const volumeOf = (
  folder: string,
  volume: Manifest,
  group: number,
  secrets: ReadonlyMap<string, Manifest>,
) => {
  const path = join(folder, volume.name)
  if (existsSync(path)) return path
  const data = join(path, '..2026')
  mkdirSync(volume.secret ? data : path, { recursive: true })
  chownSync(path, 0, group)
  chmodSync(path, volume.secret ? 0o755 : 0o2777)
  if (!volume.secret) return path
  symlinkSync('..2026', join(path, '..data'))
  for (const [name, text] of Object.entries(secrets.get(volume.secret.secretName))) {
    writeFileSync(join(data, name), String(text), { mode: volume.secret.defaultMode })
    chownSync(join(data, name), 0, group)
    symlinkSync(`..data/${name}`, join(path, name))
  }
  return path
}

/** Starts a container of a pod as its manifest says; volumes are made in `folder`. Only root can. */
export const startContainer = (
  { spec: pod }: Manifest,
  container: Manifest,
  options: {
    readonly folder: string
    readonly secrets: ReadonlyMap<string, Manifest>
    readonly env: Readonly<Record<string, string>>
    /** A folder that it finds at the same place: a socket, instead of another machine. */
    readonly shared: string
    /** Descriptors that the starting process left open. */
    readonly leaked?: readonly number[]
  },
): ChildProcess => {
  const { folder, secrets, env, shared, leaked = [] } = options
  const security = { ...pod.securityContext, ...container.securityContext }
  const group: number = pod.securityContext.fsGroup
  const mounts = container.volumeMounts.flatMap(({ name, mountPath, readOnly }: Manifest) => {
    const volume = pod.volumes.find((each: Manifest) => each.name === name)
    return [volumeOf(folder, volume, group, secrets), mountPath, readOnly ? 'ro' : 'rw']
  })
  const at = join(folder, 'root')
  mkdirSync(at, { recursive: true })
  const node = '/image/node'
  const envoy = '/image/envoy'
  const [, ...entry]: readonly string[] = JSON.parse(last('ENTRYPOINT'))
  const set: readonly (readonly [string, string])[] = last('ENV')
    .split(/\s+/)
    .map((pair) => pair.split('=') as [string, string])
  const privileges = [
    `--reuid=${security.runAsUser}`,
    `--regid=${security.runAsGroup}`,
    `--groups=${[...new Set([security.runAsGroup, group])]}`,
    ...(security.capabilities.drop.includes('ALL') ? ['--bounding-set=-all', '--inh-caps=-all'] : []),
    ...(security.allowPrivilegeEscalation ? [] : ['--no-new-privs']),
  ]
  return spawn(
    'unshare',
    [
      ...['--mount', '--propagation', 'private', '/bin/sh', '-c', SCRIPT, 'sh', at],
      ...[
        root,
        last('WORKDIR'),
        'ro',
        process.execPath,
        node,
        'ro',
        process.env.ENVOY_BIN ?? '',
        envoy,
        'ro',
      ],
      ...[...mounts, shared, shared, 'rw', '--', 'setpriv', ...privileges],
      ...['env', `--chdir=${last('WORKDIR')}`, node, ...entry, ...container.args],
    ],
    {
      env: { PATH: '/image:/usr/bin:/bin:/usr/sbin', ...Object.fromEntries(set), ENVOY_BIN: envoy, ...env },
      stdio: ['ignore', 'pipe', 'pipe', ...Array(17).fill('ignore'), ...leaked],
    },
  )
}
