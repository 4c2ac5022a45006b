/** Months since the year 0, in UTC: what activity is counted by. */
export const monthOf = (at: number): number => {
  const date = new Date(at)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}
