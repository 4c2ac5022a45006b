import type { Server } from '@grpc/grpc-js'
import type { PackageDefinition } from '@grpc/proto-loader'
import { loadSync } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import { protoPath as healthProto } from 'grpc-health-check'

/**
 * Server reflection, v1 and v1alpha, of our services and health. It answers from file descriptors only, so ours are
 * handed over as those of a package that has nothing else.
 */
export const serveReflection = (server: Server, descriptors: readonly Buffer[]): void => {
  const ours = { sidevault: { fileDescriptorProtos: [...descriptors] } } as unknown as PackageDefinition
  const reflection = new ReflectionService({ ...ours, ...loadSync(healthProto) } as never)
  reflection.addToServer(server)
}
