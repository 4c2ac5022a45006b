import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../../src/main.ts'
import { code, type Page, page, table } from './markdown.ts'

const argumentText = (argument: Argument): string => {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${text}>` : `[${text}]`
}

const defaultOf = ({ defaultValue }: Option): string =>
  defaultValue === undefined || defaultValue === false || defaultValue === ''
    ? ''
    : ` Default: \`${String(defaultValue)}\`.`

const choicesOf = ({ argChoices }: Option): string =>
  argChoices === undefined ? '' : ` One of ${argChoices.map(code).join(', ')}.`

const sentence = (text: string): string =>
  /^[a-z]+[ ,;]/.test(text) ? `${text.charAt(0).toUpperCase()}${text.slice(1)}` : text

const section = (command: Command, parents: readonly string[]): readonly string[] => {
  const path = [...parents, command.name()]
  const below = command.commands.flatMap((each) => section(each, path))
  if (below.length > 0) return below
  const usage = [...path, ...command.registeredArguments.map((each) => argumentText(each))].join(' ')
  const rows = [
    ...command.registeredArguments.map((each) => [code(argumentText(each)), sentence(each.description)]),
    ...command.options.map((each) => [
      code(each.flags),
      `${sentence(each.description)}${/[.?!]$/.test(each.description) ? '' : '.'}${choicesOf(each)}${defaultOf(each)}`,
    ]),
  ]
  return [
    `## ${path.join(' ')}`,
    `${sentence(command.description())}.`,
    `\`\`\`sh\n${usage}${command.options.some(({ mandatory }) => mandatory) ? ` ${command.options.flatMap((each) => (each.mandatory ? each.flags.replace(/^.*, /, '') : [])).join(' ')}` : ''}\n\`\`\``,
    ...(rows.length > 0 ? [table(['Argument, option', 'Meaning'], rows)] : []),
  ]
}

export const cli: Page = {
  name: 'cli',
  text: () => {
    const program = createProgram()
    return page(
      'Command line',
      `In the project's folder \`sidevault\` stands for \`node bin/sidevault.js\`. Exit codes: 0 done, 1 failed, 2 wrong usage or
configuration. Every command has \`--help\`.`,
      ...program.commands.flatMap((command) => section(command, [program.name()])),
    )
  },
}
