/** A member name that is safe to repeat in a response. Names from callers may contain values, so others become `*`. */
export const safeMemberName = (name: string): string =>
  /^[\w-]{1,60}$/.test(name) && !/\d{6}/.test(name) ? name : '*'
