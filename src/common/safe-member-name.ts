/** A member name that is safe to repeat in an answer: names that callers make up may hold anything. Others become `*`. */
export const safeMemberName = (name: string): string =>
  /^[\w-]{1,60}$/.test(name) && !/\d{6}/.test(name) ? name : '*'
