/** A transform's changes to a message by names and places, without values. */
import { isObject, type Json } from '../../common/json.ts'
import type { Edits, Head } from '../headers.ts'

export interface Changes {
  /** Names of headers, or RFC 6901 pointers into the body. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

/** Most entries of each kind. */
const MAX_CHANGES = 100

/** Changes that `edits` make to `head`, without `content-length`, which the gateway sets itself. */
export const headerChanges = (head: Head, stripped: readonly string[], { set, remove }: Edits): Changes => {
  const names = [...set.keys()].filter((name) => name !== 'content-length')
  const isNew = (name: string) => !head.has(name) || stripped.includes(name)
  return {
    added: names.filter(isNew),
    removed: remove.filter((name) => !isNew(name)),
    changed: names.filter((name) => !isNew(name)),
  }
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value)

/** Members by name, or items by number; undefined for what has neither. */
const membersOf = (value: Json): ReadonlyMap<string, Json> | undefined => {
  if (isList(value)) return new Map(value.map((item, at) => [String(at), item]))
  return isObject(value) ? new Map(Object.entries(value as Record<string, Json>)) : undefined
}

const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** The deepest places at which two bodies differ; '' is the complete body. */
export const bodyChanges = (before: Json, after: Json): Changes => {
  const changes = { added: [] as string[], removed: [] as string[], changed: [] as string[] }
  const notify = (kind: keyof Changes, at: string) => {
    if (changes[kind].length < MAX_CHANGES) changes[kind].push(at)
  }
  const compare = (old: Json, now: Json, at: string): void => {
    const [olds, nows] = [membersOf(old), membersOf(now)]
    if (olds === undefined || nows === undefined || isList(old) !== isList(now)) {
      if (JSON.stringify(old) !== JSON.stringify(now)) notify('changed', at)
      return
    }
    for (const [name, value] of olds) {
      const place = `${at}/${escaped(name)}`
      const other = nows.get(name)
      if (other === undefined) notify('removed', place)
      else compare(value, other, place)
    }
    for (const name of nows.keys()) if (!olds.has(name)) notify('added', `${at}/${escaped(name)}`)
  }
  compare(before, after, '')
  return changes
}
