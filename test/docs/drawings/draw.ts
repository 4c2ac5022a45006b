import { type Edge, layOut } from './layout.ts'

export interface Box {
  readonly id: string
  readonly title: string
  /** A second line, smaller. */
  readonly detail?: string
  readonly look: 'ours' | 'other' | 'data'
}

export interface Arrow extends Edge {
  readonly label?: string
  readonly dashed?: boolean
}

export interface Drawing {
  /** For readers who do not see the picture. */
  readonly title: string
  readonly boxes: readonly Box[]
  readonly arrows: readonly Arrow[]
  /** Lines below the drawing. */
  readonly notes?: readonly string[]
}

const MARGIN = 28
const PADDING = 14
/** Widths of a letter in the two sizes of text, px: of common sans-serif fonts, rounded up. */
const LETTER = 8
const SMALL_LETTER = 6.6

const STYLE = `
  svg { --page: #ffffff; --text: #1c2733; --soft: #55636f; --line: #7d8b98; --edge: #c9d2da; --ours: #e3effd; --ours-edge: #4a86d0;
    --other: #f2f4f6; --other-edge: #98a5b1; --data: #fdf1dc; --data-edge: #cf9a3c }
  @media (prefers-color-scheme: dark) {
    svg { --page: #12181f; --text: #e4eaf0; --soft: #a3b0bc; --line: #7f8d9a; --edge: #2c3640; --ours: #16304f; --ours-edge: #5b9be6;
      --other: #222b34; --other-edge: #66737f; --data: #3a2d13; --data-edge: #c7963f }
  }
  text { font-family: system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', Arial, sans-serif; fill: var(--text); text-anchor: middle }
  .page { fill: var(--page); stroke: var(--edge) }
  .title { font-size: 14px; font-weight: 600 }
  .detail, .note { font-size: 12px; fill: var(--soft) }
  .behind { fill: var(--page) }
  .note { text-anchor: start }
  .ours { fill: var(--ours); stroke: var(--ours-edge) }
  .other { fill: var(--other); stroke: var(--other-edge) }
  .data { fill: var(--data); stroke: var(--data-edge) }
  path { fill: none; stroke: var(--line); stroke-width: 1.4 }
  .dashed { stroke-dasharray: 4 4 }
  marker path { fill: var(--line); stroke: none }`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const px = (value: number): string => String(Math.round(value * 10) / 10)

const widthOf = ({ title, detail = '' }: Box): number =>
  Math.max(title.length * LETTER, detail.length * SMALL_LETTER) + 2 * PADDING

/** A standalone SVG, for light and dark pages. */
export const draw = ({ title, boxes, arrows, notes = [] }: Drawing): string => {
  const height = boxes.some(({ detail }) => detail) ? 54 : 36
  const step = height + (arrows.some(({ label }) => label) ? 72 : 46)
  const layout = layOut(new Map(boxes.map((box) => [box.id, widthOf(box)])), arrows)
  const top = (row: number) => MARGIN + row * step
  const lines = arrows.map((arrow) => {
    const [start, ...others] = layout.routes.get(arrow) ?? []
    if (!start) return ''
    let shape = `M${px(start.x + MARGIN)},${top(start.row) + height}`
    for (const [index, { x, row }] of others.entries()) {
      const [from, to] = [(others[index - 1] ?? start).x, x].map((each) => px(each + MARGIN))
      const middle = top(row) - (step - height) / 2
      const end = index === others.length - 1 ? '' : ` V${top(row) + height}`
      shape += ` C${from},${middle} ${to},${middle} ${to},${top(row)}${end}`
    }
    return `<path${arrow.dashed ? ' class="dashed"' : ''} d="${shape}" marker-end="url(#head)"/>`
  })
  const labels = arrows.map((arrow) => {
    const { label } = arrow
    const [start, next] = layout.routes.get(arrow) ?? []
    if (!label || !start || !next) return ''
    const x = (start.x + next.x) / 2 + MARGIN
    const y = top(next.row) - (step - height) / 2
    const width = label.length * SMALL_LETTER + 6
    return `<rect class="behind" x="${px(x - width / 2)}" y="${y - 9}" width="${px(width)}" height="18"/>
<text class="detail" x="${px(x)}" y="${y + 4}">${escaped(label)}</text>`
  })
  const shapes = boxes.map((box) => {
    const { x: column = 0, row = 0, width = 0 } = layout.nodes.get(box.id) ?? {}
    const [x, y] = [column + MARGIN, top(row)]
    const detail = box.detail
      ? `\n<text class="detail" x="${px(x)}" y="${y + 40}">${escaped(box.detail)}</text>`
      : ''
    return `<rect class="${box.look}" x="${px(x - width / 2)}" y="${y}" width="${px(width)}" height="${height}" rx="6"/>
<text class="title" x="${px(x)}" y="${y + 23}">${escaped(box.title)}</text>${detail}`
  })
  const bottom = top(layout.rows - 1) + height
  const texts = notes.map(
    (note, index) =>
      `<text class="note" x="${MARGIN}" y="${bottom + 34 + index * 18}">${escaped(note)}</text>`,
  )
  const width = Math.ceil(
    Math.max(layout.width, ...notes.map((note) => note.length * SMALL_LETTER)) + 2 * MARGIN,
  )
  const total = bottom + MARGIN + (notes.length > 0 ? 10 + notes.length * 18 : 0)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${total}" width="${width}" height="${total}" role="img">
<title>${escaped(title)}</title>
<style>${STYLE}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 8,4 0,8z"/></marker></defs>
<rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${total - 1}" rx="10"/>
${[...lines, ...shapes, ...labels, ...texts].filter(Boolean).join('\n')}
</svg>
`
}
