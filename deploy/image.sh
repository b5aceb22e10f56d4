#!/bin/sh
# The image of a release, from the base as it is today, by its digest:
#
#   deploy/image.sh try REFERENCE           builds it for this machine and waits until it is healthy, with a root file
#                                           system that cannot be written
#   deploy/image.sh archive REFERENCE FILE  builds it for all architectures into an archive
#   deploy/image.sh push REFERENCE FILE     builds it for all architectures, pushes it, and writes its digest to FILE
#
# The images for all architectures have a bill of materials and their provenance with them. COMMIT is in the image;
# without it, the last commit of the checkout is.
set -eu
cd "$(dirname "$0")/.."

tag=$(sed -n 's/^ARG BASE=//p' Dockerfile)
digest=$(docker buildx imagetools inspect --format '{{.Manifest.Digest}}' "$tag")
case $digest in sha256:*) ;; *) echo "no digest: $digest" && exit 1 ;; esac
commit=${COMMIT:-$(git rev-parse HEAD)}

# build REFERENCE [options]
build() {
    reference=$1
    shift
    docker buildx build --build-arg "BASE=$tag@$digest" --build-arg "COMMIT=$commit" --tag "$reference" "$@" .
}

# build_all REFERENCE [options]
build_all() {
    build "$@" --platform linux/amd64,linux/arm64 --sbom=true --provenance=mode=max
}

case ${1:-} in
try)
    build "$2" --load
    container=$(docker run --detach --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges "$2")
    for _ in $(seq 60); do
        if [ "$(docker inspect --format '{{.State.Health.Status}}' "$container")" = healthy ]; then
            docker rm --force "$container" >/dev/null
            exit 0
        fi
        sleep 1
    done
    docker logs "$container"
    docker rm --force "$container" >/dev/null
    exit 1
    ;;
archive)
    build_all "$2" --output "type=oci,dest=$3"
    ;;
push)
    build_all "$2" --push --metadata-file "$3.json"
    sed -n 's/.*"containerimage.digest": "\(sha256:[0-9a-f]*\)".*/\1/p' "$3.json" >"$3"
    ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
