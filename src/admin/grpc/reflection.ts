import type { Server } from '@grpc/grpc-js'
import type { PackageDefinition } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'

/**
 * Server reflection, v1 and v1alpha, of the services that these files describe. It answers from file descriptors only,
 * so they are handed over as those of a package that has nothing else.
 */
export const serveReflection = (server: Server, descriptors: readonly Buffer[]): void => {
  const ours = { sidevault: { fileDescriptorProtos: [...descriptors] } } as unknown as PackageDefinition
  new ReflectionService(ours as never).addToServer(server)
}
