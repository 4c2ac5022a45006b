import type { TSchema } from 'typebox'
import { Type } from '../common/json-schema.ts'
import { field } from './schemas.ts'

/** Bounds of `size` on every list but logs (completions §3). */
export const PAGE_SIZE = { default: 20, maximum: 100 } as const

/** Characters of a cursor. */
const START_LENGTH = 500

const size = Type.Optional(
  Type.Integer({ minimum: 1, maximum: PAGE_SIZE.maximum, default: PAGE_SIZE.default, field: 2 }),
)

/** Query members of an offset list; fields 1 and 2 of its input. */
export const offsetQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, default: 1, field: 1 })),
  size,
}

/** Query members of a cursor list; fields 1 and 2 of its input. */
export const cursorQuery = {
  start: Type.Optional(Type.String({ maxLength: START_LENGTH, field: 1 })),
  size,
}

/**
 * The Pagination object of both kinds of list; a cursor list has no totals and no `page_number`, its last page no
 * `next`.
 */
export const Pagination = Type.Object(
  {
    total_items: Type.Optional(Type.Integer({ field: 1 })),
    page_number: Type.Optional(Type.Integer({ field: 2 })),
    page_size: Type.Integer({ field: 3 }),
    total_pages: Type.Optional(Type.Integer({ field: 4 })),
    next: Type.Optional(Type.String({ field: 5 })),
  },
  { title: 'Pagination' },
)

/** Output `{ pagination, data }` of a list of `item`; with its title and `List` as title. */
export const listOf = <T extends TSchema & { readonly title?: string }>(item: T) =>
  Type.Object(
    {
      pagination: field(1, Pagination),
      data: Type.Array(item, { field: 2 }),
    },
    item.title === undefined ? {} : { title: `${item.title}List` },
  )

/**
 * The requested page of an offset list, from 1. A response over gRPC carries no number above 2^53 - 1; that page is
 * empty, too.
 */
export const pageOf = (input: {
  readonly page?: number | null | undefined
  readonly size?: number | null | undefined
}) => ({ page: Math.min(input.page ?? 1, Number.MAX_SAFE_INTEGER), size: input.size ?? PAGE_SIZE.default })

/** Page of an offset list, as returned. */
export const offsetPage = <T>(
  data: readonly T[],
  total: number,
  { page, size }: ReturnType<typeof pageOf>,
) => ({
  pagination: {
    total_items: total,
    page_number: page,
    page_size: size,
    total_pages: Math.ceil(total / size),
  },
  data: [...data],
})

/** Page of a cursor list, as returned. */
export const cursorPage = <T>(data: readonly T[], size: number, next: string | undefined) => ({
  pagination: {
    page_size: size,
    ...(next === undefined ? {} : { next }),
  },
  data: [...data],
})
