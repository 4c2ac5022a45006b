/**
 * The kinds of requests, each a list of steps: what happens to which request, and in which order. A new step is one
 * file in `steps/`, and one line in each list that wants it.
 *
 * `accept…` is for the headers of a request, the others for its body and its response. What carries them is
 * exchange.ts.
 */
import { accept } from './steps/accept.ts'
import { acceptConnect } from './steps/accept-connect.ts'
import { acceptTunneled as acceptInTunnel } from './steps/accept-tunneled.ts'
import { act, actInDryRun } from './steps/act.ts'
import { admit } from './steps/admit.ts'
import { apply } from './steps/apply.ts'
import { authenticate } from './steps/authenticate.ts'
import { authorizeCaller } from './steps/authorize.ts'
import { bind } from './steps/bind.ts'
import { check, checkResponse, checkTunnel, tryChecks } from './steps/check.ts'
import { checkHandshake } from './steps/check-handshake.ts'
import { checkLength, checkUploadLength } from './steps/check-length.ts'
import { checkPieces, checkStreamable, checkUpload } from './steps/check-streamable.ts'
import { decode } from './steps/decode.ts'
import { draft } from './steps/draft.ts'
import { forward } from './steps/forward.ts'
import { guard, guardTunneled } from './steps/guard.ts'
import { guardResponse } from './steps/guard-response.ts'
import { authenticateConnect, bindConnect, openTunnel, takeShareOfTunnel } from './steps/open-tunnel.ts'
import { plan } from './steps/plan.ts'
import { applyMasks, preview, show } from './steps/preview.ts'
import { receive } from './steps/receive.ts'
import { receiveResponse, transformGuarded } from './steps/receive-response.ts'
import { record, recorded } from './steps/record.ts'
import { refresh } from './steps/refresh.ts'
import { report } from './steps/report.ts'
import { resolve } from './steps/resolve.ts'
import { resolveTunneled } from './steps/resolve-tunneled.ts'
import { signHead } from './steps/sign-head.ts'
import { takeShare, takeShareOfPieces } from './steps/take-share.ts'
import { transform } from './steps/transform.ts'
import { tryResponse, tryTransform } from './steps/try-code.ts'
import { use } from './steps/use.ts'
import { first, inStage } from './steps.ts'

const identify = inStage('authenticate', first(admit).next(authenticate).next(authorizeCaller))

const identifyTunneled = inStage(
  'authenticate',
  first(admit).next(authenticate).next(authorizeCaller).next(bind),
)

/** A request to `/proxy`, dry runs included. */
export const acceptProxied = first(accept)
  .next(identify)
  .next(draft)
  .next(checkLength)
  .next(guard)
  .next(resolve)
  .next(takeShare)

/** A request inside a tunnel whose body Envoy buffers, or that has none. */
export const acceptTunneled = first(acceptInTunnel)
  .next(identifyTunneled)
  .next(guardTunneled)
  .next(resolveTunneled)
  .next(takeShare)

/** The handshake of a WebSocket inside a tunnel. */
export const acceptWebSocket = first(acceptInTunnel)
  .next(identifyTunneled)
  .next(checkHandshake)
  .next(guardTunneled)
  .next(resolveTunneled)
  .next(takeShare)

/** A request to `/proxy` whose body is streamed. */
export const acceptUpload = first(accept)
  .next(identify)
  .next(checkUploadLength)
  .next(guard)
  .next(resolve)
  .next(takeShareOfPieces)
  .next(checkStreamable)
  .next(record)
  .next(recorded)

/** A request inside a tunnel whose body comes in pieces. */
export const acceptPieces = first(acceptInTunnel)
  .next(identifyTunneled)
  .next(guardTunneled)
  .next(resolveTunneled)
  .next(takeShareOfPieces)
  .next(checkPieces)

/** The same, when the body is longer than the limit: it continues as an upload. */
export const continuePieces = first(checkUpload).next(record).next(recorded)

/** A tunnel of the forward proxy: the CONNECT is its only message. */
export const connect = first(acceptConnect)
  .next(admit)
  .next(authenticateConnect)
  .next(bindConnect)
  .next(takeShareOfTunnel)
  .next(checkTunnel)
  .next(openTunnel)

/** The complete body of a request that is forwarded. Nothing leaves before all records are written. */
export const forwarded = first(receive)
  .next(refresh)
  .next(record)
  .next(decode)
  .next(act)
  .next(plan)
  .next(check)
  .next(use)
  .next(apply)
  .next(recorded)
  .next(transform)
  .next(signHead)
  .next(forward)

/** The response of a guarded or checked call. */
export const guarded = first(receiveResponse).next(checkResponse).next(transformGuarded).next(guardResponse)

/** The complete body of a dry run: the report takes the place of the call. */
export const dryRun = first(receive)
  .next(refresh)
  .next(record)
  .next(recorded)
  .next(show)
  .next(actInDryRun)
  .next(plan)
  .next(tryChecks)
  .next(preview)
  .next(applyMasks)
  .next(tryTransform)
  .next(tryResponse)
  .next(report)
