import { descriptionOf } from '../../kernel/check/operation.ts'
import {
  type Field,
  hasPresence,
  type Message,
  type Method,
  type Service,
} from '../../kernel/messages/model.ts'
import type { Frozen } from './field-number-lock.ts'
import { PACKAGE, type ProtoFile, typeName } from './files.ts'

const LINE = 110

/** Text as lines of comment, each at most 110 characters wide. */
const comment = (text: string, indent: string): string => {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    if (line !== '' && indent.length + line.length + word.length + 4 > LINE) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line].map((each) => `${indent}// ${each}\n`).join('')
}

const declaration = (message: Message, field: Field): string => {
  const { shape } = field
  if (shape.kind === 'list') return `repeated ${typeName(shape.item)}`
  if (shape.kind === 'map') return `map<string, ${typeName(shape.value)}>`
  return `${hasPresence(message, field) ? 'optional ' : ''}${typeName(shape)}`
}

const printedField = (message: Message, field: Field): string => {
  const notes = [
    ...(field.description === undefined ? [] : [field.description]),
    ...(message.inRequest && field.required ? ['Required.'] : []),
  ].join(' ')
  return `${notes === '' ? '' : comment(notes, '  ')}  ${declaration(message, field)} ${field.name} = ${field.number};\n`
}

/** `reserved` numbers and names of removed members, so that protoc rejects their reuse. */
const reserved = (message: Message, frozen: Frozen): string => {
  const present = new Set(message.fields.map(({ name }) => name))
  const gone = Object.entries(frozen[message.name] ?? {}).filter(([name]) => !present.has(name))
  if (gone.length === 0) return ''
  const numbers = gone.map(([, field]) => field.number).sort((a, b) => a - b)
  const names = gone.map(([name]) => JSON.stringify(name)).sort()
  return `  reserved ${numbers.join(', ')};\n  reserved ${names.join(', ')};\n`
}

const printedMessage = (message: Message, frozen: Frozen): string => {
  const inside = [
    reserved(message, frozen),
    ...message.fields.toSorted((a, b) => a.number - b.number).map((field) => printedField(message, field)),
  ].join('')
  return inside === '' ? `message ${message.name} {}\n` : `message ${message.name} {\n${inside}}\n`
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)

const printedMethod = ({ name, operation, request, response }: Method): string => {
  const { summary, http, permission, deprecated } = operation
  const description = descriptionOf(operation)
  const notes = [
    sentence(summary),
    ...(description === undefined ? [] : [sentence(description)]),
    `As ${http}.`,
    permission === 'none' ? 'Needs no key.' : `Permission: ${permission}.`,
  ].join(' ')
  const end = deprecated === undefined ? ';' : ' {\n    option deprecated = true;\n  }'
  return `${comment(notes, '  ')}  rpc ${name}(${request.name}) returns (${response.name})${end}\n`
}

const printedService = ({ name, methods }: Service): string =>
  `service ${name} {\n${methods.map(printedMethod).join('\n')}}\n`

/** The text of a .proto file. `frozen`: numbers once given, see `checkFrozen`. */
export const printProto = (file: ProtoFile, frozen: Frozen): string =>
  [
    '// Printed by "npm run proto" from the declarations of operations. Changes made here are lost.\n',
    'syntax = "proto3";\n',
    `package ${PACKAGE};\n`,
    ...(file.imports.length === 0 ? [] : [file.imports.map((name) => `import "${name}";\n`).join('')]),
    `option go_package = "${PACKAGE.replaceAll('.', '/')};${PACKAGE.replaceAll('.', '')}";\noption java_multiple_files = true;\n`,
    ...file.services.map(printedService),
    ...file.messages
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((each) => printedMessage(each, frozen)),
  ].join('\n')
