import { AppError } from '#sdk'

export const noReactor = (id: string) =>
  new AppError('not_found', `Reactor "${id.slice(0, 100)}" does not exist.`)

export const noFormula = (id: string) =>
  new AppError('not_found', `Reactor formula "${id.slice(0, 100)}" does not exist.`)

export const noResult = (id: string) =>
  new AppError(
    'not_found',
    `There is no result of the request "${id.slice(0, 100)}": it is not ready yet, was kept for its 24 hours, or never was.`,
  )
