/** A function of the host: JSON values in, a JSON value out; it may throw, which becomes an error of the code. */
export type HostFunction = (...args: never[]) => unknown

export type HostFunctions = Readonly<Record<string, HostFunction>>

/** Bytes as they cross: a text and the encoding in which it stands for them. */
export type Wire = readonly [text: string, encoding: string]
