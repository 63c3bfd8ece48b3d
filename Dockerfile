# Four images from one file, for the platform asked for:
#   docker build --target countersign .   the product: one static binary, no shell, not root
#   docker build --target signers .       the programs that serve keys of AWS, Google or Azure to the service; name one as the command
#   docker build --target gate .          countersign-gate, in front of applications; mount its file at /etc/countersign-gate/gate.yaml
#   docker build --target devstack .      a Temporal server with its UI, for docker-compose.yml; production runs a real one
# BuildKit builds it, which is what docker build and docker compose use. Nothing is emulated: Go compiles for other platforms.

ARG GO_IMAGE=golang:1.26.11-bookworm

FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS go
WORKDIR /src
ENV CGO_ENABLED=0 GOTOOLCHAIN=local GOMODCACHE=/cache/mod GOCACHE=/cache/build

FROM go AS build
ARG VERSION=unknown TARGETOS TARGETARCH
COPY . .
RUN --mount=type=cache,target=/cache \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign

FROM go AS build-signers
ARG TARGETOS TARGETARCH
COPY signers signers
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/cache \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -C signers -trimpath -ldflags "-s -w" -o /out/ ./cmd/countersign-awskms ./cmd/countersign-googlekms ./cmd/countersign-azurekeys

FROM go AS build-gate
ARG VERSION=unknown TARGETOS TARGETARCH
COPY sdk/go sdk/go
COPY gate gate
RUN --mount=type=cache,target=/cache \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -C gate -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign-gate ./cmd/countersign-gate

FROM go AS build-devstack
ARG TARGETOS TARGETARCH
COPY devstack devstack
RUN --mount=type=cache,target=/cache \
    GOOS=$TARGETOS GOARCH=$TARGETARCH go build -C devstack -trimpath -ldflags "-s -w" -o /out/devstack .

FROM scratch AS countersign
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Countersign" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="https://github.com/countersign-dev/countersign" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE /
COPY --from=build /out/countersign /countersign
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/countersign"]
CMD ["serve"]

FROM scratch AS signers
COPY --from=build-signers /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE /
COPY --from=build-signers /out/ /usr/bin/
ENV PATH=/usr/bin
USER 65532:65532
CMD ["countersign-awskms"]

FROM scratch AS gate
COPY --from=build-gate /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY LICENSE /
COPY --from=build-gate /out/countersign-gate /countersign-gate
USER 65532:65532
EXPOSE 8080 8081 8082 9090
ENTRYPOINT ["/countersign-gate"]
CMD ["serve"]

FROM scratch AS devstack
COPY --from=build-devstack /out/devstack /devstack
# The server asks who runs it, and an image from scratch has no list of users.
ENV USER=devstack HOME=/
USER 65532:65532
EXPOSE 7233 8233
ENTRYPOINT ["/devstack"]
CMD ["--listen", "0.0.0.0"]
