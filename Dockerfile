# Envoy, Node and Sidevault for one machine; which parts run is said by "start --role". docs/guides/operations.md, "Deploy".
# Tags move. For a release give both by digest: docker build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:… (docker buildx
# imagetools inspect <tag> says which).
ARG ENVOY_IMAGE=envoyproxy/envoy:v1.40.0
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${ENVOY_IMAGE} AS envoy

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM ${NODE_IMAGE}
# https://specs.opencontainers.org/image-spec/annotations/. Give revision, created and source when you build: docker build --label.
LABEL org.opencontainers.image.title="Sidevault" \
  org.opencontainers.image.description="Self-hosted tokenization vault and detokenizing egress gateway" \
  org.opencontainers.image.version="0.2.0"
# Authorities of destinations. No package manager of Node stays in the image.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /opt/yarn* \
    /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
  && install --directory --owner=node --group=node --mode=0700 /var/lib/sidevault /etc/sidevault /app/.cache
COPY --from=envoy /usr/local/bin/envoy /usr/local/bin/envoy
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json package-lock.json sbom.cdx.json ./
COPY bin bin
COPY src src
COPY plugins plugins
COPY proto proto
COPY docs docs
ENV ENVOY_BIN=/usr/local/bin/envoy \
  NODE_ENV=production \
  SIDEVAULT_DATA_DIR=/var/lib/sidevault/data
# "node", by number: a cluster that wants nobody to be root looks at the number.
USER 1000:1000
# Starts the service and the sandbox once, as the user whose cache it is: a container's start then compiles nothing.
RUN directory=$(mktemp -d) && export SIDEVAULT_DATA_DIR="$directory/data"; \
  node bin/sidevault.js start > "$directory/log" 2>&1 & pid=$!; \
  until node bin/healthcheck.js /readyz 2> "$directory/health"; do \
    kill -0 $pid || { cat "$directory/log"; exit 1; }; sleep 1; done; \
  kill $pid && wait $pid \
  && echo "module.exports = async () => ({ body: {}, headers: {} })" > "$directory/code.js" \
  && node bin/sidevault.js transform run "$directory/code.js" --body "{}" \
  && rm -rf "$directory"
VOLUME /var/lib/sidevault
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "/app/bin/healthcheck.js"]
ENTRYPOINT ["node", "/app/bin/sidevault.js"]
CMD ["start"]
