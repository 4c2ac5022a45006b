import type { Page } from 'playwright-core'

/** Properties whose computed values `Element.style` holds. */
const STYLES = ['color', 'background-color', 'opacity', 'font-size', 'font-weight', 'visibility'] as const

/** An element of the page, as Chromium has laid it out. */
export interface Element {
  /** Chromium's id of the node. */
  readonly id: number
  /** Position in the document. */
  readonly index: number
  /** In lower case. */
  readonly tag: string
  /** For messages: the tags from <body>, with ids. */
  readonly path: string
  readonly parent: Element | undefined
  readonly attributes: Readonly<Record<string, string>>
  /** undefined where the element is not displayed. */
  readonly style: Readonly<Record<(typeof STYLES)[number], string>> | undefined
  /** The element's own text, without that of its children; empty where nothing of it is displayed. */
  readonly text: string
}

/** All elements of the page's document, in order. */
export const elementsOf = async (page: Page): Promise<readonly Element[]> => {
  const session = await page.context().newCDPSession(page)
  const { documents, strings } = await session.send('DOMSnapshot.captureSnapshot', {
    computedStyles: [...STYLES],
  })
  await session.detach()
  const [document] = documents
  if (document === undefined) throw new Error('The page has no document.')
  const { nodes, layout } = document
  const text = (index: number | undefined): string => strings[index ?? -1] ?? ''
  const rows = new Map(layout.nodeIndex.map((node, row) => [node, row]))
  const isDisplayed = (row: number): boolean =>
    (layout.bounds[row]?.[2] ?? 0) > 1 && (layout.bounds[row]?.[3] ?? 0) > 1

  const texts = new Map<number, string>()
  for (const [node, row] of rows)
    if (nodes.nodeType?.[node] === 3 && isDisplayed(row)) {
      const parent = nodes.parentIndex?.[node] ?? -1
      texts.set(parent, (texts.get(parent) ?? '') + text(layout.text[row]))
    }

  const elements = new Map<number, Element>()
  nodes.nodeType?.forEach((type, index) => {
    if (type !== 1) return
    const parent = elements.get(nodes.parentIndex?.[index] ?? -1)
    const tag = text(nodes.nodeName?.[index]).toLowerCase()
    const list = nodes.attributes?.[index] ?? []
    const attributes = Object.fromEntries(
      Array.from({ length: list.length / 2 }, (_, at) => [text(list[2 * at]), text(list[2 * at + 1])]),
    )
    const values = layout.styles[rows.get(index) ?? -1]
    elements.set(index, {
      id: nodes.backendNodeId?.[index] ?? 0,
      index,
      tag,
      path: `${parent === undefined || parent.tag === 'html' ? '' : `${parent.path} > `}${tag}${attributes.id ? `#${attributes.id}` : ''}`,
      parent,
      attributes,
      style:
        values &&
        (Object.fromEntries(STYLES.map((name, at) => [name, text(values[at])])) as Element['style'] & object),
      text: (texts.get(index) ?? '').trim(),
    })
  })
  return [...elements.values()]
}
