import t from 'tap'
import { chooseChild } from '../../../src/sandbox/parent/child-selection.ts'

const child = (busy: boolean, ...programs: string[]) => ({
  busy,
  programs: programs.length,
  knows: (key: string) => programs.includes(key),
})

t.test('a program stays with the child that has loaded it, busy or idle', (t) => {
  const [resting, preparing] = [child(false, 'b'), child(true, 'a', 'b')]
  t.equal(chooseChild([resting, preparing], 'a'), preparing)
  t.equal(chooseChild([preparing, resting], 'b'), resting)
  t.end()
})

t.test('a new program goes to the idle child with the fewest programs', (t) => {
  const [few, many, none] = [child(false, 'b'), child(false, 'b', 'c'), child(true)]
  t.equal(chooseChild([none, many, few], 'a'), few)
  t.equal(chooseChild([none], 'a'), none)
  t.throws(() => chooseChild([], 'a'))
  t.end()
})

t.test('programs that arrive in sequence are spread evenly', (t) => {
  const known = [new Set<string>(), new Set<string>(), new Set<string>()]
  const children = known.map((programs) => ({
    busy: false,
    get programs() {
      return programs.size
    },
    knows: (key: string) => programs.has(key),
    programsHeld: programs,
  }))
  for (let round = 0; round < 2; round++)
    for (let key = 0; key < 30; key++) chooseChild(children, `${key}`).programsHeld.add(`${key}`)
  t.same(
    known.map(({ size }) => size),
    [10, 10, 10],
  )
  t.end()
})
