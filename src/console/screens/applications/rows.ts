import type { ApiError } from '../../api/client.ts'
import { html, nothing, repeat, type TemplateResult } from '../../kit/html.ts'
import { icon } from '../../kit/icon.ts'
import { notice } from '../../kit/notice.ts'
import { type Editor, focus } from './fields.ts'

/** An item of a list of a draft. `key` tells its element on the page, wherever it moves. */
export interface Row {
  readonly key: number
}

interface Rows<R> {
  readonly rows: readonly R[]
  /** Place of the list in the request: `rules`. */
  readonly place: string
  /** Name of a row: `rule`. */
  readonly noun: string
  /** What the list belongs to, behind that name: ` of rule 1`. */
  readonly owner?: string
  /** Rows that a list may have. */
  readonly max: number
  /** Text of an empty list. */
  readonly none: string
  readonly error: ApiError | undefined
  readonly view: (row: Editor<R>, number: number, buttons: TemplateResult) => TemplateResult
  /** The list with another row at its end. */
  add(): readonly R[]
  /** The list with a row and its neighbour exchanged; absent: their order does not count. */
  move?(index: number, by: -1 | 1): readonly R[]
  set(rows: readonly R[]): void
}

const idOf = (row: Row | undefined, way = ''): string => `row-${row?.key}${way}`

/** Rows of fields, which are added, removed and moved. The focus follows. */
export const rowsEditor = <R extends Row>(options: Rows<R>): TemplateResult => {
  const { rows, place, noun, owner = '', max, none, error, view, set } = options
  const title = noun.charAt(0).toUpperCase() + noun.slice(1)
  const addId = `add-${place}`
  const add = () => {
    const all = options.add()
    set(all)
    focus(idOf(all.at(-1)))
  }
  const remove = (index: number) => {
    const rest = rows.toSpliced(index, 1)
    set(rest)
    focus(idOf(rest[index] ?? rest.at(-1)), addId)
    notice('info', `${title} ${index + 1}${owner} removed.`)
  }
  const mover = (row: R, index: number, way: 'up' | 'down') => {
    const by = way === 'up' ? -1 : 1
    const move = () => {
      set(options.move?.(index, by) ?? rows)
      focus(idOf(row, way), idOf(row, way === 'up' ? 'down' : 'up'))
      notice('info', `${title} moved to place ${index + by + 1} of ${rows.length}.`)
    }
    return html`<button
      type="button"
      class="plain"
      id=${idOf(row, way)}
      aria-label=${`Move ${noun} ${index + 1} ${way}`}
      ?disabled=${rows[index + by] === undefined}
      @click=${move}
    >
      ${icon(way)}
    </button>`
  }
  const item = (row: R, index: number) => {
    const buttons = html`${options.move === undefined ? nothing : html`${mover(row, index, 'up')} ${mover(row, index, 'down')}`}
      <button type="button" class="plain" aria-label=${`Remove ${noun} ${index + 1}${owner}`} @click=${() => remove(index)}>
        Remove
      </button>`
    const change = (part: Partial<R>) => set(rows.with(index, { ...row, ...part }))
    const editor = { value: row, error, at: `${place}[${index}].`, id: idOf(row), change }
    return html`<li>${view(editor, index + 1, buttons)}</li>`
  }
  return html`
    ${
      rows.length === 0
        ? html`<p class="soft">${none}</p>`
        : html`<ol class="rows">${repeat(rows, ({ key }) => key, item)}</ol>`
    }
    ${
      rows.length >= max
        ? html`<p class="soft">${max} ${noun}s are the most.</p>`
        : html`<div class="buttons">
            <button type="button" id=${addId} aria-label=${`Add a ${noun}${owner}`} @click=${add}>Add a ${noun}</button>
          </div>`
    }
  `
}
