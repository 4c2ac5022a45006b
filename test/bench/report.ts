const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`

/** A table in Markdown. */
export const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

interface Bar {
  readonly label: string
  readonly value: number
}

/** Values as bars of a code block, to one scale of at most 60 characters. */
export const bars = (rows: readonly Bar[]): string => {
  const most = Math.max(...rows.map(({ value }) => value))
  const width = Math.max(...rows.map(({ label }) => label.length))
  const lines = rows.map(({ label, value }) => {
    const bar = '█'.repeat(Math.round((value / most) * 60))
    return `${label.padEnd(width)}  ${bar.padEnd(61)} ${value.toFixed(2)}`
  })
  return ['```', ...lines, '```'].join('\n')
}
