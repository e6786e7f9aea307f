# The program is put together in a few files, which load faster than the source with its hundreds of modules. What is
# large and seldom needed stays outside, in node_modules.

# What a release is built on, with its digest, is what .ci/image found.
ARG BASE=node:26-slim

FROM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package that the connector needs has anything to do at installation.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# One of googleapis' 340 apis is used. The others are 230 MB; that it loads without them is tried at once.
RUN find node_modules/googleapis/build/src/apis -mindepth 1 -maxdepth 1 ! -name sheets -exec rm -r {} + \
 && node -e "require('googleapis/build/src/apis/sheets/index.js').sheets('v4')"

FROM dependencies AS app
COPY README.md config.example.yaml config.schema.json rolldown.config.ts ./
COPY connectors connectors
COPY src src
# Of what only development needs, this alone, in the version of the lock file. Then it is tried whether the code loads.
RUN npm install --no-save --save-prod --omit=dev --ignore-scripts --no-audit --no-fund \
      rolldown@$(node -p "require('./package.json').devDependencies.rolldown") \
 && npm run bundle && chmod 755 dist/main.js && node dist/main.js schema > /dev/null \
 && rm -r connectors src node_modules package-lock.json .npmrc rolldown.config.ts
# As it will be in the image: the program as a command, and a folder that belongs to the image's user.
RUN install -d /image/usr/local/bin && mv /app /image && install -d -o 1000 -g 1000 /image/data \
 && ln -s /app/dist/main.js /image/usr/local/bin/candidate-connector

FROM ${BASE}
LABEL org.opencontainers.image.title="candidate-connector" \
      org.opencontainers.image.description="Receives a candidate-testing service's status webhook durably and tells Slack, Google Sheets, email and other systems about it, once each."
# The dependencies are a layer of their own, which a change of the code leaves as it is.
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=app /image/ /
# Where editors find the JSON Schema of configs, which `init` writes into the file.
ARG SCHEMA_URL
# SQLite needs a place for large sorts, and with a read-only root /data is the only one.
ENV NODE_ENV=production \
    SQLITE_TMPDIR=/data \
    CONNECTOR_CONFIG=/config/config.yaml \
    CONNECTOR_SCHEMA=$SCHEMA_URL \
    HEALTH_URL=http://127.0.0.1:8080/readyz
# The config's default store, ./data/connector.db, is then in /data.
WORKDIR /
VOLUME /data
# A number, so that Kubernetes sees that it is not root. It is `node` in the base image.
USER 1000:1000
EXPOSE 8080
STOPSIGNAL SIGTERM
# The shell asks by itself: a Node process for each question would take more than the connector does while nothing comes.
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s \
  CMD ["bash", "-c", "u=${HEALTH_URL#http://} h=${u%%/*} a=${h//[][]/}; exec 3<>/dev/tcp/${a%:*}/${a##*:} && printf 'GET /%s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' ${u#*/} $h >&3 && read -r _ code _ <&3 && [ $code = 200 ]"]
# Node itself is process 1, so SIGTERM reaches it.
ENTRYPOINT ["node", "/app/dist/main.js"]
CMD ["serve"]
