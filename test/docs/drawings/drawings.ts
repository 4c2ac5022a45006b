import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../kit/sources.ts'
import { type Arrow, type Box, type Drawing, draw } from './draw.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** A drawing written as lines: `name | title | detail | look` and `from -> to | label`. */
export const parseDrawing = (title: string, text: string): Drawing => {
  const boxes: Box[] = []
  const arrows: Arrow[] = []
  for (const line of text.split('\n').filter((each) => each && !each.startsWith('#'))) {
    const [first = '', second = '', detail = '', look] = line.split('|').map((part) => part.trim())
    const ends = /^(\w+) (--?>) (\w+)$/.exec(first)
    if (ends)
      arrows.push({ from: ends[1] ?? '', to: ends[3] ?? '', label: second, dashed: ends[2] === '-->' })
    else if (look === 'ours' || look === 'other' || look === 'data')
      boxes.push({ id: first, title: second, detail, look })
    else throw new Error(`not a line of a drawing: ${line}`)
  }
  return { title, boxes, arrows }
}

/** All rooms import common/, whose arrows would hide the rest; console/ imports types of sdk/ only. */
const UNDRAWN = ['common', 'console']

/** Whether `to` is reached from `from` by other arrows. */
const isReached = (arrows: readonly Arrow[], from: string, to: string): boolean => {
  const seen = new Set<string>()
  const waiting = [from]
  for (let room = waiting.pop(); room !== undefined; room = waiting.pop()) {
    if (room === to) return true
    if (seen.has(room)) continue
    seen.add(room)
    waiting.push(...arrows.filter((arrow) => arrow.from === room).map((arrow) => arrow.to))
  }
  return false
}

/**
 * The folders of src/ from the table in test/imports.test.ts, without arrows where a longer way leads to the same room.
 */
const roomsDrawing = (): Drawing => {
  const rows = read('test/imports.test.ts').matchAll(
    /^ {2}'?([\w-]+)'?: \{\s*values:\s*'([^']*)'(?:,\s*types: '([^']*)')?/gm,
  )
  const names: string[] = []
  const values: Arrow[] = [
    { from: 'plugins', to: 'sdk' },
    { from: 'plugins', to: 'kit' },
  ]
  const types: Arrow[] = []
  for (const [, from = '', imported = '', handed = ''] of rows) {
    names.push(from)
    const targets = (list: string, ...others: readonly string[]) =>
      list.split(' ').filter((to) => to && to !== 'common' && !others.includes(to))
    values.push(...targets(imported).map((to) => ({ from, to })))
    types.push(...targets(handed, 'sdk').map((to) => ({ from, to, dashed: true })))
  }
  // Types that run back up would close a circle.
  const down = types.filter(({ from, to }) => !isReached(values, to, from))
  let shown = [...values, ...down]
  for (const arrow of down.concat(values)) {
    const others = shown.filter((each) => each !== arrow)
    if (isReached(others, arrow.from, arrow.to)) shown = others
  }
  return {
    title: 'The folders of src/, and who imports whom',
    boxes: ['plugins', ...names.filter((name) => !UNDRAWN.includes(name))].map((name) => ({
      id: name,
      title: name === 'plugins' ? 'plugins/' : name,
      look: name === 'plugins' ? 'other' : 'ours',
    })),
    arrows: shown,
    notes: [
      'Solid: imports. Dashed: imports types only, and is handed the thing itself. An arrow is left out where a longer way leads there.',
      'Also left out: common/, which all import, types of sdk/ and types that run back up. console/ runs in browsers and imports types of sdk/ only.',
    ],
  }
}

export const drawings: readonly { readonly path: string; readonly text: () => string }[] = [
  {
    path: 'docs/drawings/processes.svg',
    text: () => draw(parseDrawing('Processes of one machine', read('docs/drawings/processes.txt'))),
  },
  { path: 'docs/drawings/rooms.svg', text: () => draw(roomsDrawing()) },
]
