CREATE TABLE "svc"."token_usage" (
	"who" text NOT NULL,
	"period" text NOT NULL,
	"tokens" bigint NOT NULL,
	CONSTRAINT "token_usage_who_period_pk" PRIMARY KEY("who","period")
);
--> statement-breakpoint
ALTER TABLE "svc"."api_keys" ADD COLUMN "limits" jsonb;--> statement-breakpoint
CREATE INDEX "token_usage_by_period" ON "svc"."token_usage" USING btree ("period","who");