import type { Element } from './page-elements.ts'

/** Red, green, blue and opacity, each 0 to 1. */
type Colour = readonly [number, number, number, number]

/** A computed colour of CSS: `rgb(…)`, `rgba(…)` or `color(srgb …)`. */
const parse = (text: string): Colour => {
  const [, kind, values = ''] = /^(rgba?|color)\((.*)\)$/.exec(text) ?? []
  const numbers = values
    .replace(/^srgb /, '')
    .split(/[\s,/]+/)
    .map(Number)
  const [red = Number.NaN, green = Number.NaN, blue = Number.NaN, opacity = 1] = numbers
  if (kind === undefined || Number.isNaN(red + green + blue)) throw new Error(`unknown colour ${text}`)
  const scale = kind === 'color' ? 1 : 255
  return [red / scale, green / scale, blue / scale, opacity]
}

/** `front` painted over an opaque `back`. */
const over = (front: Colour, back: Colour): Colour => {
  const [, , , opacity] = front
  const mix = (at: 0 | 1 | 2): number => front[at] * opacity + back[at] * (1 - opacity)
  return [mix(0), mix(1), mix(2), 1]
}

/** Relative luminance (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance). */
const luminance = ([red, green, blue]: Colour): number => {
  const linear = (value: number): number =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

const WHITE: Colour = [1, 1, 1, 1]

const ancestors = (element: Element): readonly Element[] =>
  element.parent === undefined ? [element] : [...ancestors(element.parent), element]

const opacityOf = (element: Element): number =>
  ancestors(element).reduce((product, { style }) => product * Number(style?.opacity ?? 1), 1)

const fade = ([red, green, blue, opacity]: Colour, by: number): Colour => [red, green, blue, opacity * by]

/** The backgrounds of the element and its ancestors, painted over each other. */
const backgroundOf = (element: Element): Colour =>
  ancestors(element).reduce(
    (back, layer) =>
      layer.style === undefined
        ? back
        : over(fade(parse(layer.style['background-color']), opacityOf(layer)), back),
    WHITE,
  )

/** Large text, for which 3:1 suffices: from 24 px, or from 18.66 px in bold. */
const isLarge = (style: Element['style'] & object): boolean => {
  const size = Number.parseFloat(style['font-size'])
  return size >= 24 || (size >= 18.66 && Number(style['font-weight']) >= 700)
}

/** Content of closed details is laid out, and not shown. */
const isFolded = (element: Element): boolean => {
  const line = ancestors(element)
  return line.some(
    ({ tag, attributes }, at) =>
      tag === 'details' &&
      !('open' in attributes) &&
      line[at + 1] !== undefined &&
      line[at + 1]?.tag !== 'summary',
  )
}

const isDisabled = (element: Element): boolean =>
  ancestors(element).some(({ attributes }) => 'disabled' in attributes)

/** Contrast of the element's text to its background, 1 to 21. */
const contrastOf = (element: Element, style: Element['style'] & object): number => {
  const back = backgroundOf(element)
  const front = over(fade(parse(style.color), opacityOf(element)), back)
  const [high, low] = [luminance(front), luminance(back)].sort((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/**
 * Texts with less contrast than WCAG 2.2 AA asks (https://www.w3.org/TR/WCAG22/#contrast-minimum). Disabled controls
 * are exempt.
 */
export const contrastIssues = (elements: readonly Element[]): readonly string[] =>
  elements.flatMap((element) => {
    const { style, text, path } = element
    if (
      style === undefined ||
      text === '' ||
      style.visibility !== 'visible' ||
      isDisabled(element) ||
      isFolded(element)
    )
      return []
    const least = isLarge(style) ? 3 : 4.5
    const contrast = contrastOf(element, style)
    if (contrast >= least) return []
    return [`contrast ${contrast.toFixed(2)} of "${text.slice(0, 40)}", below ${least}: ${path}`]
  })
