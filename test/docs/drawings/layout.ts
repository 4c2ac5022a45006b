/**
 * Layout by layers (Sugiyama, Tagawa and Toda, 1981): rows by longest path, few crossings by barycenters, then columns
 * as near to the neighbours as widths allow.
 */
export interface Edge {
  readonly from: string
  readonly to: string
}

/** A node, or the place where an edge passes a row. */
interface Cell {
  readonly width: number
  readonly row: number
  x: number
  readonly above: Cell[]
  readonly below: Cell[]
}

interface Layout {
  /** Center and row of each node. */
  readonly nodes: ReadonlyMap<string, Cell>
  readonly rows: number
  readonly width: number
  /** The columns of an edge, one for each row from its start to its end. */
  readonly routes: ReadonlyMap<Edge, readonly Cell[]>
}

const GAP = 20
/** Width of an edge that passes a row. */
const LANE = 4
const SWEEPS = 400

/** Each node is below all that point to it, and as low as its own edges allow when it has no more of the others. */
const rowsOf = (ids: readonly string[], edges: readonly Edge[]): ReadonlyMap<string, number> => {
  const rows = new Map(ids.map((id) => [id, 0]))
  const row = (id: string) => rows.get(id) ?? 0
  for (const _ of ids) for (const { from, to } of edges) rows.set(to, Math.max(row(to), row(from) + 1))
  for (const _ of ids)
    for (const id of ids) {
      const targets = edges.filter(({ from }) => from === id)
      if (targets.length > 0 && targets.length >= edges.filter(({ to }) => to === id).length)
        rows.set(id, Math.min(...targets.map(({ to }) => row(to))) - 1)
    }
  return rows
}

const mean = (cells: readonly Cell[], otherwise: number): number =>
  cells.length === 0 ? otherwise : cells.reduce((sum, { x }) => sum + x, 0) / cells.length

const crossings = (rows: readonly (readonly Cell[])[]): number =>
  rows
    .map((row) => row.flatMap((cell) => cell.below.map((end) => ({ start: cell.x, end: end.x }))))
    .flatMap((lines) =>
      lines.flatMap((a, i) => lines.slice(i + 1).map((b) => (a.start - b.start) * (a.end - b.end))),
    )
    .filter((sides) => sides < 0).length

/** Moves cells to the wanted columns. Both passes retain the order and the gaps, and so does their mean. */
const spread = (row: readonly Cell[], wanted: readonly number[]): void => {
  const space = (a?: Cell, b?: Cell) => ((a?.width ?? 0) + (b?.width ?? 0)) / 2 + GAP
  const left = [...wanted]
  const right = [...wanted]
  for (let i = 1; i < row.length; i += 1)
    left[i] = Math.max(wanted[i] ?? 0, (left[i - 1] ?? 0) + space(row[i - 1], row[i]))
  for (let i = row.length - 2; i >= 0; i -= 1)
    right[i] = Math.min(wanted[i] ?? 0, (right[i + 1] ?? 0) - space(row[i], row[i + 1]))
  for (const [i, cell] of row.entries()) cell.x = ((left[i] ?? 0) + (right[i] ?? 0)) / 2
}

/** `widths` of all nodes by their names. Throws when an edge names no node. */
export const layOut = (widths: ReadonlyMap<string, number>, edges: readonly Edge[]): Layout => {
  const rowOf = rowsOf([...widths.keys()], edges)
  const rows: Cell[][] = Array.from({ length: Math.max(...rowOf.values()) + 1 }, () => [])
  const add = (width: number, row: number): Cell => {
    const cell: Cell = { width, row, x: rows[row]?.length ?? 0, above: [], below: [] }
    rows[row]?.push(cell)
    return cell
  }
  const nodes = new Map([...widths].map(([id, width]) => [id, add(width, rowOf.get(id) ?? 0)]))
  const routes = new Map<Edge, readonly Cell[]>()
  for (const edge of edges) {
    const start = nodes.get(edge.from)
    const end = nodes.get(edge.to)
    if (!start || !end) throw new Error(`an edge names no node: ${edge.from}, ${edge.to}`)
    const route = [start]
    for (let row = start.row + 1; row < end.row; row += 1) route.push(add(LANE, row))
    route.push(end)
    for (const [index, cell] of route.slice(1).entries()) {
      const before = route[index] ?? start
      before.below.push(cell)
      cell.above.push(before)
    }
    routes.set(edge, route)
  }
  let best = { count: Number.POSITIVE_INFINITY, orders: rows }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const down = sweep % 2 === 0
    for (const row of down ? rows : rows.toReversed()) {
      const wanted = new Map(row.map((cell) => [cell, mean(down ? cell.above : cell.below, cell.x)]))
      row.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0))
      for (const [index, cell] of row.entries()) cell.x = index
    }
    const count = crossings(rows)
    if (count < best.count) best = { count, orders: rows.map((row) => [...row]) }
  }
  for (const row of best.orders)
    for (const [index, cell] of row.entries()) cell.x = (index - row.length / 2) * 100
  for (let sweep = 0; sweep < SWEEPS; sweep += 1)
    for (const row of sweep % 2 === 0 ? best.orders : best.orders.toReversed())
      spread(
        row,
        row.map((cell) => mean([...cell.above, ...cell.below], cell.x)),
      )
  const cells = rows.flat()
  const left = Math.min(...cells.map(({ x, width }) => x - width / 2))
  for (const cell of cells) cell.x -= left
  return { nodes, rows: rows.length, routes, width: Math.max(...cells.map(({ x, width }) => x + width / 2)) }
}
