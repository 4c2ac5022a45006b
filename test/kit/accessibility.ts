import type { Page } from 'playwright-core'
import { contrastIssues } from './contrast.ts'
import { type Element, elementsOf } from './page-elements.ts'

/** A node of Chromium's accessibility tree. */
interface Node {
  readonly role: string
  readonly name: string
  /** How the name was found, e.g. `placeholder`. */
  readonly nameFrom: string | undefined
  readonly level: number | undefined
  readonly element: Element | undefined
}

/** Roles of which each has a name. */
const NAMED = new Set(
  'button link textbox searchbox combobox listbox checkbox radio switch slider spinbutton tab menuitem DisclosureTriangle table grid dialog alertdialog img image progressbar meter region'.split(
    ' ',
  ),
)

/** The roles of WAI-ARIA 1.2 that an author may write (https://www.w3.org/TR/wai-aria-1.2/#role_definitions). */
const ROLES = new Set(
  'alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img insertion link list listbox listitem log main marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem'.split(
    ' ',
  ),
)

/** Attributes that name other elements by id. */
const REFERENCES = [
  'for',
  'list',
  'aria-labelledby',
  'aria-describedby',
  'aria-controls',
  'aria-owns',
  'aria-details',
  'aria-errormessage',
]

const nodesOf = async (page: Page, elements: readonly Element[]): Promise<readonly Node[]> => {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const byId = new Map(elements.map((element) => [element.id, element]))
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name, properties = [], backendDOMNodeId }) => ({
      role: String(role?.value ?? ''),
      name: String(name?.value ?? '').trim(),
      nameFrom: name?.sources?.find((source) => source.value && !source.superseded)?.type,
      level: properties.find((property) => property.name === 'level')?.value.value,
      element: backendDOMNodeId === undefined ? undefined : byId.get(backendDOMNodeId),
    }))
}

const nameIssues = (nodes: readonly Node[]): readonly string[] =>
  nodes.flatMap(({ role, name, nameFrom, element }) => {
    if (!NAMED.has(role)) return []
    if (name === '') return [`no name: ${role} ${element?.path}`]
    return nameFrom === 'placeholder' ? [`named by its placeholder only: ${role} ${element?.path}`] : []
  })

/** An open modal dialog: the page around it is inert, and not among the nodes. */
const isModal = (nodes: readonly Node[]): boolean => nodes.some(({ role }) => role === 'dialog')

const headingIssues = (nodes: readonly Node[]): readonly string[] => {
  const headings = nodes
    .filter(({ role, element }) => role === 'heading' && element !== undefined)
    .sort((a, b) => a.element!.index - b.element!.index)
  const first = headings.filter(({ level }) => level === 1)
  return [
    ...(first.length === 1 || isModal(nodes) ? [] : [`${first.length} headings of level 1`]),
    ...headings.flatMap(({ name, level = 0 }, index) => {
      if (name === '') return [`empty heading of level ${level}`]
      const before = headings[index - 1]?.level ?? 1
      return level > before + 1 ? [`heading "${name}" of level ${level} after level ${before}`] : []
    }),
  ]
}

const elementIssues = (elements: readonly Element[]): readonly string[] => {
  const ids = elements.flatMap(({ attributes }) => attributes.id ?? [])
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index)
  return [
    ...repeated.map((id) => `id "${id}" is used twice`),
    ...elements.flatMap(({ path, attributes }) => [
      ...(attributes.role ?? '')
        .split(' ')
        .filter((role) => role !== '' && !ROLES.has(role))
        .map((role) => `unknown role "${role}": ${path}`),
      ...(Number(attributes.tabindex ?? 0) > 0 ? [`tabindex above 0: ${path}`] : []),
      ...REFERENCES.flatMap((name) =>
        (attributes[name] ?? '')
          .split(' ')
          .filter((id) => id !== '' && !ids.includes(id))
          .map((id) => `${name} names "${id}", which does not exist: ${path}`),
      ),
    ]),
  ]
}

const pageIssues = (nodes: readonly Node[], elements: readonly Element[]): readonly string[] => {
  const [html] = elements.filter(({ tag }) => tag === 'html')
  const title = nodes.find(({ role }) => role === 'RootWebArea')?.name
  const mains = nodes.filter(({ role }) => role === 'main').length
  return [
    ...(html?.attributes.lang ? [] : ['no lang on <html>']),
    ...(title ? [] : ['no title']),
    ...(mains === 1 || isModal(nodes) ? [] : [`${mains} main landmarks`]),
  ]
}

/**
 * Accessibility issues of the page: controls without a name, unknown roles, ids and
 * references, headings out of order, landmarks, and text with a contrast below 4.5:1 (3:1 where it is large). Each
 * issue is a sentence with the path of its element.
 */
export const accessibilityIssues = async (page: Page): Promise<readonly string[]> => {
  const elements = await elementsOf(page)
  const nodes = await nodesOf(page, elements)
  return [
    ...pageIssues(nodes, elements),
    ...nameIssues(nodes),
    ...headingIssues(nodes),
    ...elementIssues(elements),
    ...contrastIssues(elements),
  ]
}
