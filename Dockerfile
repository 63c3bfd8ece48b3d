# syntax=docker/dockerfile:1
# Two images from one file:
#   docker build --target countersign .   the product: one static binary, no shell, not root
#   docker build --target devstack .      a Temporal server with its UI, for docker-compose.yml; production runs a real one

ARG GO_IMAGE=golang:1.26.10-bookworm

FROM ${GO_IMAGE} AS modules
WORKDIR /src
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
COPY go.mod go.sum ./
COPY devstack/go.mod devstack/go.sum devstack/
RUN go mod download && go mod download -C devstack

FROM modules AS build
ARG VERSION=unknown
COPY . .
RUN go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign

FROM modules AS build-devstack
COPY devstack devstack
RUN go build -C devstack -trimpath -ldflags "-s -w" -o /out/devstack .

FROM scratch AS countersign
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/countersign /countersign
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/countersign"]
CMD ["serve"]

FROM scratch AS devstack
COPY --from=build-devstack /out/devstack /devstack
# The server asks who runs it, and an image from scratch has no list of users.
ENV USER=devstack HOME=/
USER 65532:65532
EXPOSE 7233 8233
ENTRYPOINT ["/devstack"]
CMD ["--listen", "0.0.0.0"]
