import { AppError, notFound } from '#sdk'

export const noReactor = (id: string) => notFound('Reactor', id)

export const noFormula = (id: string) => notFound('Reactor formula', id)

export const noResult = () =>
  new AppError(
    'not_found',
    'There is no result of this request: it is not ready yet, was handed out, was kept for its 15 minutes, went with a token that it used, or never was.',
  )
