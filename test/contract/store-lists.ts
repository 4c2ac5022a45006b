import type { Test } from 'tap'
import type { Condition } from '../../src/sdk/index.ts'
import type { NewToken, SearchNode, TokenListQuery, Visibility } from '../../src/store/tokens/types.ts'
import { aToken, NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

const under = (value: string): readonly Condition[] => [
  { attribute: 'container', operator: 'starts_with', value },
]

/** Twenty-four tokens of two types in four containers, `t00` the oldest. */
const CONTAINERS = ['/pci/high/', '/pci/low/', '/pcix/', '/bank/high/']

const termOf = (index: number) => Buffer.from(`term-${index % 5}`)

const samples = (): readonly NewToken[] =>
  Array.from({ length: 24 }, (_, index) =>
    aToken({
      id: `t${String(index).padStart(2, '0')}`,
      container: CONTAINERS[index % 4] as string,
      type: index % 3 === 0 ? 'bank' : 'card',
      fingerprint: index % 6 === 0 ? `fp-${index}` : null,
      metadata: { color: index % 2 === 0 ? 'red' : 'blue', size: String(index) },
      created_by: `application-${index % 2}`,
      created_at: NOW + index,
      terms: [termOf(index)],
    }),
  )

export const storeLists = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const { tokens } = store
  const all = samples()
  await tokens.create(all, NOW)
  // Neighbours that no query of tenant-a may show or count.
  await tokens.create(
    all.map((token) => ({ ...token, tenant_id: 'tenant-b' })),
    NOW,
  )

  const base = { tenantId: 'tenant-a', now: NOW, visibility: 'all' as Visibility }
  const newestFirst = (matches: (token: NewToken, index: number) => boolean): readonly string[] =>
    all
      .filter(matches)
      .map(({ id }) => id)
      .reverse()

  /** The list in one page, in pages by offset and in pages by cursor, and its count, against plain JavaScript. */
  const check = async (
    t: Test,
    name: string,
    query: { readonly visibility?: Visibility; readonly where?: SearchNode },
    matches: (token: NewToken, index: number) => boolean,
  ): Promise<void> => {
    const expected = newestFirst(matches)
    const ids = async (page: Partial<TokenListQuery>) =>
      (await tokens.list({ ...base, ...query, size: 100, ...page })).map(({ id }) => id)
    t.strictSame(await ids({}), expected, name)
    t.equal(await tokens.count({ ...base, ...query }), expected.length, `${name}: count`)
    t.strictSame(await ids({ size: 3, offset: 2 }), expected.slice(2, 5), `${name}: offset`)
    const walked: string[] = []
    for (let beforeSeq: number | undefined; ; ) {
      const rows = await tokens.list({ ...base, ...query, size: 4, ...(beforeSeq ? { beforeSeq } : {}) })
      walked.push(...rows.map(({ id }) => id))
      beforeSeq = rows.at(-1)?.seq
      if (rows.length < 4) break
    }
    t.strictSame(walked, expected, `${name}: cursor`)
  }

  await t.test('visibility of a caller', async (t) => {
    await check(t, 'all', {}, () => true)
    await check(t, 'nothing', { visibility: [] }, () => false)
    await check(t, 'no condition', { visibility: [[]] }, () => true)
    await check(t, 'a container and all below it', { visibility: [under('/pci/')] }, ({ container }) =>
      container.startsWith('/pci/'),
    )
    await check(t, 'a plain text prefix', { visibility: [under('/pci')] }, ({ container }) =>
      container.startsWith('/pci'),
    )
    await check(t, 'the root', { visibility: [under('/')] }, () => true)
    await check(t, 'a container without tokens', { visibility: [under('/none/')] }, () => false)
    await check(
      t,
      'alternatives that overlap',
      { visibility: [under('/pci/high/'), under('/pci/'), under('/bank/')] },
      ({ container }) => container.startsWith('/pci/') || container.startsWith('/bank/'),
    )
    await check(
      t,
      'ids and containers together',
      {
        visibility: [
          [{ attribute: 'id', operator: 'starts_with', value: 't1' }, ...under('/pci/')],
          [{ attribute: 'id', operator: 'equals', value: 't03' }],
        ],
      },
      ({ id, container }) => (id.startsWith('t1') && container.startsWith('/pci/')) || id === 't03',
    )
    await check(
      t,
      'characters that patterns know',
      { visibility: [[{ attribute: 'id', operator: 'starts_with', value: 't_' }], under('/%')] },
      () => false,
    )
  })

  await t.test('conditions of a search', async (t) => {
    const eq = (
      field: 'id' | 'type' | 'container' | 'fingerprint' | 'created_by',
      value: string,
    ): SearchNode => ({
      kind: 'equals',
      field,
      value,
    })
    const term = (index: number): SearchNode => ({ kind: 'term', term: termOf(index) })
    const color = (value: string): SearchNode => ({ kind: 'metadata', key: 'color', value })
    const and = (...nodes: SearchNode[]): SearchNode => ({ kind: 'and', nodes })
    const or = (...nodes: SearchNode[]): SearchNode => ({ kind: 'or', nodes })
    const not = (node: SearchNode): SearchNode => ({ kind: 'not', node })
    const cases: readonly [string, SearchNode, (token: NewToken, index: number) => boolean][] = [
      ['a type', eq('type', 'bank'), ({ type }) => type === 'bank'],
      ['an unknown type', eq('type', 'nope'), () => false],
      [
        'several ids',
        or(eq('id', 't03'), eq('id', 't07'), eq('id', 'zz')),
        ({ id }) => id === 't03' || id === 't07',
      ],
      ['a fingerprint', eq('fingerprint', 'fp-6'), ({ fingerprint }) => fingerprint === 'fp-6'],
      [
        'no fingerprint counts as another one',
        not(eq('fingerprint', 'fp-6')),
        ({ fingerprint }) => fingerprint !== 'fp-6',
      ],
      ['a term', term(2), (_, index) => index % 5 === 2],
      ['an unknown term', { kind: 'term', term: Buffer.from('none') }, () => false],
      ['not a term', not(term(2)), (_, index) => index % 5 !== 2],
      ['either term', or(term(1), term(2)), (_, index) => index % 5 === 1 || index % 5 === 2],
      ['both terms', and(term(1), term(2)), () => false],
      ['a term or metadata', or(term(1), color('red')), (_, index) => index % 5 === 1 || index % 2 === 0],
      ['a term and metadata', and(term(1), color('red')), (_, index) => index % 5 === 1 && index % 2 === 0],
      [
        'a term or a type',
        or(term(1), eq('type', 'bank')),
        ({ type }, index) => index % 5 === 1 || type === 'bank',
      ],
      ['metadata', color('blue'), (_, index) => index % 2 === 1],
      ['metadata of an unknown key', { kind: 'metadata', key: 'nope', value: 'red' }, () => false],
      [
        'a range of metadata, as text',
        {
          kind: 'metadata-range',
          key: 'size',
          from: { value: '10', inclusive: true },
          to: { value: 14, inclusive: false },
        },
        (_, index) => index >= 10 && index < 14,
      ],
      [
        'a container prefix',
        { kind: 'prefix', field: 'container', value: '/pci/' },
        ({ container }) => container.startsWith('/pci/'),
      ],
      ['an id prefix', { kind: 'prefix', field: 'id', value: 't1' }, ({ id }) => id.startsWith('t1')],
      [
        'a range of times',
        {
          kind: 'range',
          field: 'created_at',
          from: { value: NOW + 3, inclusive: false },
          to: { value: NOW + 9, inclusive: true },
        },
        ({ created_at }) => created_at > NOW + 3 && created_at <= NOW + 9,
      ],
      [
        'an open range',
        { kind: 'range', field: 'created_at', from: { value: NOW + 20, inclusive: true } },
        ({ created_at }) => created_at >= NOW + 20,
      ],
      ['a range without bounds', { kind: 'range', field: 'created_at' }, () => true],
      ['who created it', eq('created_by', 'application-1'), (_, index) => index % 2 === 1],
      [
        'never modified',
        { kind: 'range', field: 'modified_at', from: { value: 0, inclusive: true } },
        () => false,
      ],
      ['no alternatives', or(), () => false],
      ['no conditions', and(), () => true],
      ['not nothing', not(or()), () => true],
      [
        'type, container, term and metadata together',
        and(eq('type', 'card'), not(eq('container', '/pcix/')), and(color('red'), or(term(0), term(4)))),
        ({ type, container }, index) =>
          type === 'card' && container !== '/pcix/' && index % 2 === 0 && [0, 4].includes(index % 5),
      ],
    ]
    for (const [name, where, matches] of cases) {
      await check(t, name, { where }, matches)
      await check(
        t,
        `${name}, seen in part`,
        { where, visibility: [under('/pci/')] },
        (token, index) => token.container.startsWith('/pci/') && matches(token, index),
      )
    }
  })

  await t.test('a search of the longest allowed length runs, one too deep is rejected', async (t) => {
    const nodes = Array.from(
      { length: 2_000 },
      (_, index): SearchNode => ({ kind: 'equals', field: 'created_by', value: `a-${index}` }),
    )
    t.strictSame(await tokens.list({ ...base, where: { kind: 'or', nodes }, size: 1 }), [])
    let deep: SearchNode = { kind: 'term', term: Buffer.from('x') }
    for (let depth = 0; depth < 200; depth++) deep = { kind: 'not', node: deep }
    await t.rejects(tokens.list({ ...base, where: deep, size: 1 }), { code: 'invalid' })
    const visibility = Array.from({ length: 1_500 }, (_, index) => under(`/c${index}/`))
    t.equal(await tokens.count({ ...base, visibility }), 0)
  })

  await t.test('more groups than can be merged are still listed in order and counted', async (t) => {
    const { tokens } = await open(t)
    const many = Array.from({ length: 60 }, (_, index) =>
      aToken({ id: `m${index}`, container: `/many/c${index % 30}/` }),
    )
    await tokens.create([...many, aToken({ container: '/other/' })], NOW)
    const query = { ...base, visibility: [under('/many/')] }
    const listed = await tokens.list({ ...query, size: 100 })
    t.strictSame(
      listed.map(({ id }) => id),
      many.map(({ id }) => id).reverse(),
    )
    t.equal(await tokens.count(query), 60)
  })

  await t.test('expired tokens are neither listed nor counted, purged or not', async (t) => {
    const { tokens } = await open(t)
    const keep = aToken({ terms: [Buffer.from('x')] })
    await tokens.create([keep, aToken({ expires_at: NOW + 5, terms: [Buffer.from('x')] })], NOW)
    await tokens.create([aToken({ tenant_id: 'tenant-b', expires_at: NOW + 5 })], NOW)
    const queries: readonly { readonly visibility: Visibility; readonly where?: SearchNode }[] = [
      { visibility: 'all' },
      { visibility: [under('/pci/')] },
      { visibility: 'all', where: { kind: 'term', term: Buffer.from('x') } },
      { visibility: 'all', where: { kind: 'equals', field: 'type', value: 'card' } },
    ]
    const check = async (name: string) => {
      for (const query of queries) {
        const rows = await tokens.list({ ...base, ...query, now: NOW + 5, size: 10 })
        t.strictSame(
          rows.map(({ id }) => id),
          [keep.id],
          name,
        )
        t.equal(await tokens.count({ ...base, ...query, now: NOW + 5 }), 1, name)
      }
    }
    await check('before the purge')
    await tokens.purge(NOW + 5, 10)
    await check('after it')
  })
}
