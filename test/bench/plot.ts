export interface Axis {
  readonly label: string
  readonly log?: boolean
}

export interface Series {
  readonly name: string
  /** x and y; with a logarithmic axis above 0. */
  readonly points: readonly (readonly [number, number])[]
}

export interface Chart {
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly series: readonly Series[]
}

const WIDTH = 760
const HEIGHT = 420
const PLOT = { left: 72, right: 190, top: 44, bottom: 56 } as const
/** Told apart by people who see few colours, too (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'] as const

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** `1,500` as `1.5k`. */
export const short = (value: number): string => {
  const units = ['', 'k', 'M', 'G']
  let unit = 0
  let rest = value
  for (; Math.abs(rest) >= 1000 && unit < units.length - 1; unit++) rest /= 1000
  return `${Number(rest.toPrecision(3))}${units[unit]}`
}

/** Round numbers from 0 to at least `most`, about five of them. */
const linearTicks = (most: number): number[] => {
  const rough = most / 5 || 1
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? rough
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step)
}

/** Powers of ten around all of `values`. */
const logTicks = (values: readonly number[]): number[] => {
  const from = Math.floor(Math.log10(Math.min(...values)))
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index))
}

/** Ticks of an axis, and where a value lies between its ends (0 to 1). */
const scale = ({ log = false }: Axis, values: readonly number[]) => {
  const ticks = log ? logTicks(values) : linearTicks(Math.max(...values, 0))
  const of = log ? Math.log10 : (value: number) => value
  const first = of(ticks[0] ?? 0)
  const last = of(ticks.at(-1) ?? 1)
  return { ticks, at: (value: number) => (of(value) - first) / (last - first || 1) }
}

/** A line chart as SVG. */
export const lineChart = ({ title, x, y, series }: Chart): string => {
  const points = series.flatMap((one) => one.points)
  const across = scale(
    x,
    points.map(([value]) => value),
  )
  const up = scale(
    y,
    points.map(([, value]) => value),
  )
  const right = WIDTH - PLOT.right
  const bottom = HEIGHT - PLOT.bottom
  const left = (value: number) => (PLOT.left + across.at(value) * (right - PLOT.left)).toFixed(1)
  const top = (value: number) => (bottom - up.at(value) * (bottom - PLOT.top)).toFixed(1)
  const text = (content: string, place: string) => `<text ${place}>${escaped(content)}</text>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(title, `x="${PLOT.left}" y="24" font-size="15" font-weight="bold"`),
    ...across.ticks.flatMap((tick) => [
      `<path d="M${left(tick)} ${PLOT.top}V${bottom}" stroke="#e4e4e4"/>`,
      text(short(tick), `x="${left(tick)}" y="${bottom + 18}" text-anchor="middle"`),
    ]),
    ...up.ticks.flatMap((tick) => [
      `<path d="M${PLOT.left} ${top(tick)}H${right}" stroke="#e4e4e4"/>`,
      text(short(tick), `x="${PLOT.left - 8}" y="${Number(top(tick)) + 4}" text-anchor="end"`),
    ]),
    `<path d="M${PLOT.left} ${PLOT.top}V${bottom}H${right}" fill="none" stroke="#444"/>`,
    text(x.label, `x="${(PLOT.left + right) / 2}" y="${HEIGHT - 14}" text-anchor="middle"`),
    text(y.label, `transform="translate(18 ${(PLOT.top + bottom) / 2}) rotate(-90)" text-anchor="middle"`),
    ...series.flatMap((one, index) => {
      const colour = COLOURS[index % COLOURS.length]
      const line = one.points.map(([a, b]) => `${left(a)},${top(b)}`).join(' ')
      const legend = PLOT.top + 10 + index * 20
      return [
        `<polyline points="${line}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...(one.points.length > 60
          ? []
          : one.points.map(([a, b]) => `<circle cx="${left(a)}" cy="${top(b)}" r="3" fill="${colour}"/>`)),
        `<path d="M${right + 12} ${legend}h18" stroke="${colour}" stroke-width="2"/>`,
        text(one.name, `x="${right + 36}" y="${legend + 4}"`),
      ]
    }),
    '</svg>',
    '',
  ].join('\n')
}
