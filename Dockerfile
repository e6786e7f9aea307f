# Node runs the TypeScript as it is. So there is nothing to build: dependencies are fetched and made small, and what V8
# makes of the code is kept for the next start.

FROM node:26-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package that the connector needs has anything to do at installation.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# One of googleapis' 340 apis is used. The others are 230 MB; that it loads without them is tried at once.
RUN find node_modules/googleapis/build/src/apis -mindepth 1 -maxdepth 1 ! -name sheets -exec rm -r {} + \
 && node -e "require('googleapis/build/src/apis/sheets/index.js').sheets('v4')"

FROM dependencies AS app
COPY README.md config.example.yaml config.schema.json ./
COPY connectors connectors
COPY src src
# Filled as the user that will read it, since each user's is kept apart; and by this it is known that the code loads.
RUN install -d -o node .compile-cache
USER node
RUN export NODE_COMPILE_CACHE=/app/.compile-cache; node src/support/precompile.ts && node src/main.ts schema > /dev/null
USER root
RUN chown -R root .compile-cache && chmod -R a+rX .compile-cache && chmod 755 src/main.ts \
 && rm -r node_modules package-lock.json .npmrc

FROM node:26-slim
LABEL org.opencontainers.image.title="candidate-connector" \
      org.opencontainers.image.description="Receives a candidate-testing service's status webhook durably and tells Slack, Google Sheets, email and other systems about it, once each."
# The dependencies are a layer of their own, which a change of the code leaves as it is.
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=app /app /app
RUN ln -s /app/src/main.ts /usr/local/bin/candidate-connector && install -d -o node -g node /data
# SQLite needs a place for large sorts, and with a read-only root /data is the only one.
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/.compile-cache \
    SQLITE_TMPDIR=/data \
    CONNECTOR_CONFIG=/config/config.yaml \
    HEALTH_URL=http://127.0.0.1:8080/readyz
# The config's default store, ./data/connector.db, is then in /data.
WORKDIR /
VOLUME /data
USER node
EXPOSE 8080
STOPSIGNAL SIGTERM
# The shell asks by itself: a Node process for each question would take more than the connector does while nothing comes.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --start-interval=1s \
  CMD ["bash", "-c", "u=${HEALTH_URL#http://} h=${u%%/*} a=${h//[][]/}; exec 3<>/dev/tcp/${a%:*}/${a##*:} && printf 'GET /%s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n' ${u#*/} $h >&3 && read -r _ code _ <&3 && [ $code = 200 ]"]
# Node itself is process 1, so SIGTERM reaches it.
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["serve"]
