/** `os`: fixed values, without information about the host. */
export const EOL = '\n'
export const platform = (): string => 'linux'
export const type = (): string => 'Linux'
export const arch = (): string => 'x64'
export const endianness = (): string => 'LE'
export const hostname = (): string => 'localhost'
export const release = (): string => ''
export const tmpdir = (): string => '/tmp'
export const homedir = (): string => '/'
export const cpus = (): readonly unknown[] => []
export const totalmem = (): number => 0
export const freemem = (): number => 0
export const uptime = (): number => 0
export const networkInterfaces = (): object => ({})
