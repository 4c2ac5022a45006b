import { createMessages } from '../../kernel/messages/create.ts'
import type { Operation } from '../../sdk/index.ts'
import { checkFrozen, currentFields, type Frozen, freeze } from './field-number-lock.ts'
import { protoFiles } from './files.ts'
import { printProto } from './generate.ts'

/** The lock file of field numbers and types, beside the .proto files. */
export const FROZEN_FILE = 'sidevault/v1/fields.json'

interface Printed {
  /** Texts by file name, e.g. `sidevault/v1/tokens.proto`; `FROZEN_FILE` is one of them. */
  readonly files: ReadonlyMap<string, string>
  /** Changes that would break clients. */
  readonly issues: readonly string[]
}

/** The .proto files of operations, given what was frozen before. */
export const printProtos = (operations: readonly Operation[], frozen: Frozen): Printed => {
  const { messages, issues } = createMessages(operations)
  const current = currentFields(messages)
  const after = freeze(frozen, current)
  const files = new Map(protoFiles(messages).map((file) => [file.name, printProto(file, after)]))
  files.set(FROZEN_FILE, printFrozen(after))
  return {
    files,
    issues: [...issues.map(({ rpc, problem }) => `${rpc}: ${problem}`), ...checkFrozen(frozen, current)],
  }
}

/** A line for each field. */
const printFrozen = (frozen: Frozen): string => {
  const messages = Object.entries(frozen).map(([message, fields]) => {
    const lines = Object.entries(fields).map(
      ([name, { number, type }]) =>
        `    ${JSON.stringify(name)}: { "number": ${number}, "type": ${JSON.stringify(type)} }`,
    )
    const inside = lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n  }`
    return `  ${JSON.stringify(message)}: ${inside}`
  })
  return `{\n${messages.join(',\n')}\n}\n`
}
