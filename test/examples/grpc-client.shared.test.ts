import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import protobuf from 'protobufjs'
import t from 'tap'
import { fileDescriptors } from '../../src/admin/proto/descriptors.ts'
import { protoFiles } from '../../src/admin/proto/files.ts'
import { loadOperations } from '../../src/commands/operations.ts'
import { createMessages } from '../../src/kernel/messages/create.ts'
import { directoryFor } from '../kit/directory.ts'
import { FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { root } from '../kit/sources.ts'

interface Ended {
  readonly code: number
  readonly output: string
}

/** The bootstrap's own way to run pip, which keeps what it writes below `.cache/`. */
const {
  run,
  toolEnvironment,
}: {
  run(file: string, args: readonly string[], options?: object): Promise<Ended>
  toolEnvironment(root: string): NodeJS.ProcessEnv
} = await import(new URL('../../bin/bootstrap/run.js', import.meta.url).href)

const example = join(root, 'examples/grpc-client')
const protos = join(root, 'proto')

/** Python with the packages of the example, kept below `.cache/`; or what could not be had, and why. */
const findPython = async (): Promise<
  { readonly python: string; readonly packages: string } | { readonly missing: string }
> => {
  const requirements = join(example, 'requirements.txt')
  const issues: string[] = []
  for (const python of ['python3', 'python']) {
    const version = await run(python, ['-c', 'import sys; print(sys.version_info[:2], sys.platform)'])
    if (version.code !== 0) {
      issues.push(`${python} is not there`)
      continue
    }
    const wanted = createHash('sha256')
      .update(readFileSync(requirements))
      .update(version.output)
      .digest('hex')
    const packages = join(root, '.cache', `grpc-client-${wanted.slice(0, 16)}`)
    if (existsSync(packages)) return { python, packages }
    const fresh = `${packages}.${process.pid}`
    mkdirSync(join(root, '.cache'), { recursive: true })
    const args = ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', '--only-binary', ':all:']
    const installed = await run(python, [...args, '--target', fresh, '--requirement', requirements], {
      env: toolEnvironment(root),
      timeout: 300_000,
    })
    if (installed.code === 0) {
      if (!existsSync(packages)) renameSync(fresh, packages)
      return { python, packages }
    }
    rmSync(fresh, { recursive: true, force: true })
    issues.push(
      `"${python} -m pip" could not install ${readFileSync(requirements, 'utf8').trim().split('\n').join(', ')}: ${installed.output.trim().split('\n').at(-1)}`,
    )
  }
  return { missing: issues.join('; ') }
}

const found = await findPython()
if ('missing' in found) {
  t.pass(`NOT RUN: the generated gRPC client. ${found.missing}`, { skip: found.missing })
  t.end()
} else {
  const { python, packages } = found
  const generated = directoryFor(t)
  const files = globSync(join(protos, 'sidevault/v1/*.proto'))
  const py = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { stdout } = await promisify(execFile)(python, args, {
      env: { ...process.env, PYTHONPATH: `${packages}:${generated}`, PYTHONDONTWRITEBYTECODE: '1', ...env },
    })
    return stdout
  }
  const protoc = (...out: readonly string[]) =>
    py(['-m', 'grpc_tools.protoc', '-I', protos, ...out, ...files])

  t.test('protoc accepts the printed files, and describes them as reflection does', async (t) => {
    const set = join(generated, 'set.bin')
    await protoc('--include_imports', `--descriptor_set_out=${set}`)
    const json = createRequire(import.meta.url)('protobufjs/google/protobuf/descriptor.json')
    const types = protobuf.Root.fromJSON(json)
    const setType = types.lookupType('google.protobuf.FileDescriptorSet')
    const fileType = types.lookupType('google.protobuf.FileDescriptorProto')
    type File = {
      name: string
      options?: object
      messageType?: { reservedRange?: unknown; reservedName?: unknown }[]
    }
    const bare = (file: File) => {
      const { options, ...rest } = file
      const isOurs = file.name.startsWith('sidevault/')
      return {
        ...rest,
        // Reserved names concern authors of the files; options of Google's are about its own packages.
        messageType: file.messageType?.map(
          ({ reservedRange: _range, reservedName: _name, ...message }) => message,
        ),
        ...(isOurs ? { options } : {}),
      }
    }
    const byName = (all: readonly File[]) => Object.fromEntries(all.map((file) => [file.name, bare(file)]))
    const plain = { enums: String, defaults: false }
    const theirs = setType.toObject(setType.decode(readFileSync(set)), plain) as { file: File[] }
    const { messages } = createMessages(
      await loadOperations({ plugins: ['*'], pluginBases: [], pluginConfig: {} }),
    )
    const ours = fileDescriptors(protoFiles(messages)).map(
      (bytes) => fileType.toObject(fileType.decode(bytes), plain) as File,
    )
    const { 'grpc/health/v1/health.proto': health, ...described } = byName(ours)
    t.ok(health)
    t.strictSame(described, byName(theirs.file))
  })

  t.test('a generated client and a reflection client work', async (t) => {
    const vault = await sharedSidevault(FORWARD_PROXY)
    const address = `127.0.0.1:${vault.port}`
    const env = { SIDEVAULT_BOOTSTRAP_KEY: vault.managementKey }
    await protoc(`--python_out=${generated}`, `--grpc_python_out=${generated}`)
    const uuid = /^[0-9a-f-]{36}$/
    t.match(JSON.parse(await py([join(example, 'client.py'), address], env)), {
      trace_id: 'grpc-example',
      masked: { number: 'XXXXXXXXXXXX4242', expiration_month: 12, expiration_year: 2030 },
      containers: ['/pci/high/'],
      updated: { number: 'XXXXXXXXXXXX4242', expiration_year: 2031 },
      expires: false,
      tokenized: { name: uuid, list: [1, null, { id: uuid }] },
      found: [true],
      total: 1,
      rejected: {
        status: 'INVALID_ARGUMENT',
        type: '/docs/errors#invalid',
        code: 'invalid',
        violations: ['data.number'],
        errors: { 'data.number': [/Luhn/] },
      },
    })

    const explore = (...args: readonly string[]) => py([join(example, 'explore.py'), address, ...args], env)
    const services = (await explore('list')).trim().split('\n')
    t.ok(services.includes('sidevault.v1.Tokens') && services.includes('grpc.health.v1.Health'))
    t.match(
      await explore('describe', 'sidevault.v1.Applications'),
      'Regenerate(sidevault.v1.ApplicationsRegenerateRequest)',
    )
    t.match(JSON.parse(await explore('call', 'grpc.health.v1.Health/List')).statuses, {
      'sidevault.v1.Tokens': { status: /SERVING/ },
    })
    const application = { name: 'explored', type: 'private', permissions: ['token:read'] }
    const created = JSON.parse(
      await explore('call', 'sidevault.v1.Applications/Create', JSON.stringify(application)),
    )
    t.match(created, { ...application, key: /^key_/ })
  })
}
