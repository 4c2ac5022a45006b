const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`

/** A table in Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

interface Bar {
  readonly label: string
  readonly value: number
  /** Marked with `|`. */
  readonly aim?: number
}

/** Values as bars of a code block, to one scale of at most 60 characters. */
export const bars = (rows: readonly Bar[]): string => {
  const most = Math.max(...rows.flatMap(({ value, aim = 0 }) => [value, aim]))
  const wide = (value: number) => Math.round((value / most) * 60)
  const lines = rows.map(({ label, value, aim }) => {
    const filled = '█'.repeat(wide(value)).padEnd(61)
    const at = aim === undefined ? undefined : wide(aim)
    const bar = at === undefined ? filled : `${filled.slice(0, at)}|${filled.slice(at + 1)}`
    return `${label.padEnd(Math.max(...rows.map((row) => row.label.length)))}  ${bar.trimEnd()} ${value.toFixed(2)}`
  })
  return ['```', ...lines, '```'].join('\n')
}
