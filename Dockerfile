# The command in a container: docs/start.md shows how to run it. It needs the wheel in dist/, which `make dist` builds. Dependabot updates the digest.
FROM python:3.13.15-slim@sha256:881d80734ee05dca6f7f42dcb080975652a53c7eda9ba1f03bb8da31aa6a6ec2
# buildx sets it for `make image`. Then compiled files do not contain the time of the build.
ARG SOURCE_DATE_EPOCH
COPY requirements/command.txt dist/express_path-*.whl /tmp/express-path/
RUN pip install --no-cache-dir --root-user-action=ignore --require-hashes --requirement=/tmp/express-path/command.txt \
    && pip install --no-cache-dir --root-user-action=ignore --no-deps /tmp/express-path/*.whl \
    && pip check \
    && rm -r /tmp/express-path
# A user without an account, so that no file of the base image changes. ~/.aws is looked up in HOME.
USER 10001:10001
ENV HOME=/home/express-path
WORKDIR /work
ENTRYPOINT ["express-path"]
